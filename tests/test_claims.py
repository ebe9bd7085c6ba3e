"""What decides the claims of book/misconceptions.md, one test a claim.

A test is given a world and refutes the claim there. It passes in this world, and fails in worlds
that are made so that the claim is true: each test is shown to bite.
"""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.linalg import expm
from torch.nn import functional as F

from sinpe import (
    LearnedEncoding,
    NoPosition,
    RotaryAxes,
    SinusoidalEncoding,
    TokenEmbedding,
    Transformer,
    TransformerConfig,
    axial_frequencies,
    inverse_frequencies,
    shift_matrix,
    similarity,
    sinusoidal_encoding,
    sinusoidal_encoding_2d,
    wavelengths,
)
from sinpe.experiments import load_records
from sinpe.experiments.analysis import by_cell


def refuted(*, here, as_claimed):
    """The test passes with `here`, and fails with each of the worlds in which the claim holds."""

    def decorate(refute):
        def test():
            refute(here)
            for world in as_claimed:
                with pytest.raises(AssertionError):
                    refute(world)

        test.__name__, test.__doc__ = refute.__name__, refute.__doc__
        return test

    return decorate


# --- about attention


def model(position=None, *, causal=False, **options):
    options = {"d_model": 32, "n_layers": 2, "n_heads": 2, "d_ff": 32, "causal": causal} | options
    config = TransformerConfig(20, **options)
    return Transformer(config, position or NoPosition()).double().eval()


@torch.no_grad()
def states(transformer, tokens):
    return transformer(torch.tensor([tokens]))[0].numpy()


def encoder(tokens):
    return states(model(), tokens)


def decoder(tokens):
    return states(model(causal=True), tokens)


def encoder_with_position(tokens):
    return states(model(SinusoidalEncoding(32)), tokens)


def averaged(tokens):
    return encoder(tokens).mean(axis=0, keepdims=True).repeat(len(tokens), axis=0)


TEXT, ORDER = [3, 7, 1, 9, 4], [2, 0, 4, 1, 3]
SHUFFLED = [TEXT[i] for i in ORDER]


@refuted(here=encoder, as_claimed=[averaged])
def test_attention_is_equivariant_and_not_invariant(rows):
    """“Self-attention is permutation invariant.”"""
    assert np.allclose(rows(SHUFFLED), rows(TEXT)[ORDER], rtol=0, atol=1e-12)
    assert np.abs(rows(SHUFFLED) - rows(TEXT)).max() > 0.1


@refuted(here=encoder, as_claimed=[encoder_with_position])
def test_rows_in_order_hold_vectors_without_order(rows):
    """“The rows of the output keep the order of the input, so order is not lost.”"""
    for i, place in enumerate(ORDER):  # a word has the same vector wherever it stands
        assert np.allclose(rows(SHUFFLED)[i], rows(TEXT)[place], rtol=0, atol=1e-12)
    assert np.allclose(rows(SHUFFLED).mean(0), rows(TEXT).mean(0), rtol=0, atol=1e-12)


@refuted(here=decoder, as_claimed=[encoder])
def test_a_causal_mask_tells_orders_apart(rows):
    """“A Transformer cannot know order without positional encoding.”"""
    assert np.abs(rows([3, 7, 1])[-1] - rows([7, 3, 1])[-1]).max() > 1e-3
    equal = rows([5, 5, 5, 5])  # and what no depth can do
    assert np.allclose(equal, equal[:1], rtol=0, atol=1e-12)


# --- about the formula

WHOLE = np.arange(200.0)
SCATTERED = np.random.default_rng(0).choice(2_000_000, (2, 1500), replace=False).astype(float)


def generator(kind):
    """A matrix A of a code p ↦ exp(pA) v: what moves by one fixed matrix."""
    rng = np.random.default_rng(1)
    square = rng.normal(size=(6, 6)) / 10
    return {"keeps lengths": square - square.T, "does not": np.diag([0.1] * 5, 1)}[kind]


@refuted(here=generator("keeps lengths"), as_claimed=[generator("does not")])
def test_what_moves_by_one_rotation_is_sines_and_cosines(matrix):
    """“Sines and cosines are one choice among many.”"""
    start = np.ones(6)
    codes = np.stack([expm(p * matrix) @ start for p in WHOLE])
    speeds = np.abs(np.linalg.eigvals(matrix).imag)
    waves = np.concatenate(
        [
            np.ones((len(WHOLE), 1)),
            np.sin(np.outer(WHOLE, speeds)),
            np.cos(np.outer(WHOLE, speeds)),
        ],
        axis=1,
    )
    left = codes - waves @ np.linalg.lstsq(waves, codes, rcond=None)[0]
    assert np.abs(left).max() < 1e-9


@refuted(
    here=lambda d: wavelengths(d)[-1],
    as_claimed=[lambda d: wavelengths(d, spacing="tensor2tensor")[-1]],
)
def test_the_longest_wavelength_is_not_the_quoted_one(longest):
    """“The wavelengths run from 2π to 10 000 · 2π.”"""
    for d in (4, 128, 512):
        assert longest(d) == pytest.approx(2 * np.pi * 10_000 ** ((d - 2) / d), rel=1e-12)


def clipped_at_10_000(positions, d):
    return sinusoidal_encoding(np.minimum(positions, 9_999.0), d)


@refuted(here=sinusoidal_encoding, as_claimed=[clipped_at_10_000])
def test_no_length_ends_at_10_000(code):
    """“10 000 is the maximum length.”"""
    far = code(np.arange(9_990.0, 10_090.0), 64)
    apart = np.linalg.norm(far[:, None] - far[None], axis=-1) + 9 * np.eye(len(far))
    near = code(np.arange(100.0), 64)
    here = np.linalg.norm(near[:, None] - near[None], axis=-1) + 9 * np.eye(len(near))
    assert apart.min() == pytest.approx(here.min(), rel=1e-6)


@refuted(
    here=sinusoidal_encoding,
    as_claimed=[
        lambda positions, d: sinusoidal_encoding(np.mod(positions, 10_000), d),
        lambda positions, d: sinusoidal_encoding(np.mod(positions, 62_832), d),
    ],
)
def test_codes_do_not_repeat_after_10_000_or_62_832(code):
    """“Codes repeat after 10 000 (or 62 832) positions.”"""
    start = code(np.arange(100.0), 512)
    for period in (10_000, 62_832):
        gap = np.linalg.norm(code(period + np.arange(100.0), 512) - start, axis=1)
        assert gap.min() > 12  # unrelated: √512 = 22.6; neighbours: 4.9


@refuted(here=similarity, as_claimed=[lambda offsets, d: np.zeros(len(offsets))])
def test_a_fast_and_a_slow_period_leave_codes_nearly_equal(kernel):
    """“Their periods make the codes unique.”"""
    gaps = np.sqrt(2 * 2 - 4 * kernel(np.arange(1.0, 200_001), 4))
    assert 0 < gaps.min() < 0.002


# --- about building it


def columns_match(table, other):
    """Whether some order of the columns of one table gives the other."""
    return all(np.abs(table - column[:, None]).max(0).min() < 1e-9 for column in other.T)


@refuted(
    here=sinusoidal_encoding(300, 16, layout="concatenated"),
    as_claimed=[sinusoidal_encoding(300, 16, layout="concatenated", spacing="tensor2tensor")],
)
def test_two_halves_are_the_formula_in_another_order(halves):
    """“A picture with two smooth halves contradicts the formula.”"""
    assert columns_match(halves, sinusoidal_encoding(300, 16))


@refuted(
    here=sinusoidal_encoding(300, 16, spacing="tensor2tensor"),
    as_claimed=[sinusoidal_encoding(300, 16, layout="concatenated")],
)
def test_tensor2tensor_is_no_other_order(table):
    """“tensor2tensor only reorders the columns.”"""
    assert not columns_match(table, sinusoidal_encoding(300, 16))


def by_power(d):
    return np.float32(10_000) ** (-np.arange(0, d, 2, dtype=np.float32) / np.float32(d))


def by_logarithm(d):
    step = np.float32(-math.log(10_000.0) / d)
    return np.exp(np.arange(0, d, 2, dtype=np.float32) * step)


@refuted(here=(by_power, by_logarithm), as_claimed=[(by_logarithm, by_power)])
def test_the_logarithm_is_no_more_accurate_than_the_power(ways):
    """“`exp(-log …)` is there for numerical stability.”"""
    for d in (512, 768):
        power, logarithm = (
            (np.abs(way(d) / inverse_frequencies(d) - 1) / 2**-24).max() for way in ways
        )
        assert power < logarithm


def angles_in(dtype):
    def code(positions, d):
        positions = torch.tensor(positions, dtype=torch.float64).to(dtype)
        angles = positions[:, None] * torch.tensor(inverse_frequencies(d)).to(dtype)
        return torch.cat([angles.sin(), angles.cos()], 1).double().numpy()

    return code


def exact(positions, d):
    return sinusoidal_encoding(positions, d, layout="concatenated")


@refuted(here=angles_in, as_claimed=[lambda dtype: exact])
def test_angles_need_precision(code_in):
    """“Sinusoids need no care with precision.”"""
    low = code_in(torch.bfloat16)(np.array([256.0, 257.0]), 64)
    assert np.array_equal(low[0], low[1])
    far = np.arange(1e6, 1e6 + 1000)
    assert np.abs(code_in(torch.float32)(far, 512) - exact(far, 512)).max() > 0.05


def looks_right(table):
    """What people check: shape, range, first row."""
    first = np.tile([0.0, 1.0], table.shape[1] // 2)
    return np.abs(table).max() <= 1 and np.allclose(table[0], first, rtol=0, atol=1e-12)


def is_right(table):
    return np.allclose(table, sinusoidal_encoding(*table.shape), rtol=0, atol=1e-6)


def faulty(n, d, fault):
    column = np.arange(d)
    pair = {"index doubled": 2 * (column // 2), "a frequency a column": column / 2}[fault]
    angles = np.arange(n)[:, None] * 10_000.0 ** (-2 * pair / d)
    return np.where(column % 2, np.cos(angles), np.sin(angles))


@refuted(here=looks_right, as_claimed=[is_right])
def test_shape_range_and_first_row_pass_wrong_tables(check):
    """“The table has the right shape and range, and the loss falls, so it is right.”"""
    for fault in ("index doubled", "a frequency a column"):
        assert check(faulty(50, 32, fault)) and not is_right(faulty(50, 32, fault))


def as_module(positions):
    encoding = SinusoidalEncoding(32, max_len=512).double()
    x = torch.zeros(1, len(positions), 32, dtype=torch.float64)
    return encoding.embed(x, torch.tensor(positions))[0].numpy()


def limited(positions):
    return sinusoidal_encoding(np.minimum(positions, 511), 32)


@refuted(here=as_module, as_claimed=[limited])
def test_a_table_of_512_rows_goes_on(code):
    """“A table of 512 rows limits the model to 512 tokens.”"""
    positions = np.array([0, 511, 512, 5000])
    assert np.allclose(code(positions), sinusoidal_encoding(positions, 32), rtol=0, atol=1e-6)


# --- about what it does


@refuted(
    here=sinusoidal_encoding,
    as_claimed=[lambda positions, d: 0.02 * sinusoidal_encoding(positions, d)],
)
def test_codes_are_loud_beside_small_embeddings(code):
    """“Positional codes are small, since their entries lie between −1 and 1.”"""
    for d in (64, 512):
        rms = np.sqrt((code(100, d) ** 2).mean())
        assert rms > 5 * max(0.02, d**-0.5)


def noise(n, d):
    """Codes that point everywhere."""
    return np.random.default_rng(2).normal(size=(n, d)) / np.sqrt(2)


@refuted(here=sinusoidal_encoding, as_claimed=[noise])
def test_a_projection_reads_the_word_under_any_code(code):
    """“Adding the code destroys the word.”"""
    n = d = 128
    words = d**-0.5 * np.random.default_rng(3).normal(size=(50, d))
    codes = code(n, d)
    _, sizes, axes = np.linalg.svd(codes, full_matrices=False)
    used = axes[sizes > 1e-3 * sizes[0]]  # the directions that hold all but a trace of the codes
    outside = np.eye(d) - used.T @ used
    seen = words @ outside
    sums = (words[:, None] + codes) @ outside
    nearest = np.argmin(((sums[:, :, None] - seen) ** 2).sum(-1), axis=-1)
    assert (nearest == np.arange(50)[:, None]).mean() > 0.99


def project(weight, x, p):
    return np.concatenate([x, p], axis=1) @ weight.T


def kept_apart(weight, x, p):
    half = len(weight) // 2
    width = x.shape[1]
    return np.concatenate([x @ weight[:half, :width].T, p @ weight[half:, width:].T], axis=1)


@refuted(here=project, as_claimed=[kept_apart])
def test_concatenating_mixes_in_the_first_layer(layer):
    """“Concatenating would keep word and code apart, adding mixes them.”"""
    rng = np.random.default_rng(4)
    weight, x, p = rng.normal(size=(8, 24)), rng.normal(size=(5, 12)), sinusoidal_encoding(5, 12)
    out = layer(weight, x, p)
    assert np.allclose(out, x @ weight[:, :12].T + p @ weight[:, 12:].T, rtol=0, atol=1e-12)
    same = np.concatenate([weight[:, :12], weight[:, :12]], axis=1)
    assert np.allclose(layer(same, x, p), (x + p) @ weight[:, :12].T, rtol=0, atol=1e-12)


@refuted(
    here=sinusoidal_encoding,
    as_claimed=[lambda positions, d: sinusoidal_encoding(positions, 2 * d)[:, 0::2]],
)
def test_one_matrix_moves_all_codes(code):
    """“I regressed PE(p + k) on PE(p) and it failed, so a shift is not linear.”"""
    fit, test = SCATTERED
    for k in (1, 7):
        matrix = np.linalg.lstsq(code(fit, 32), code(fit + k, 32), rcond=None)[0]
        assert np.abs(code(test, 32) @ matrix - code(test + k, 32)).max() < 1e-6


@refuted(here=similarity, as_claimed=[lambda offsets, d: np.exp(-np.abs(offsets) / 50)])
def test_the_similarity_rises_again_and_goes_below_zero(kernel):
    """“The similarity of two codes falls monotonically with their distance.”"""
    for d in (64, 512):
        curve = kernel(np.arange(60_000.0), d)
        assert np.diff(curve).max() > 0 and curve.min() < 0


def projected_scores(n, d):
    """Queries that ask for the code three tokens back: exactly what W_q = T₋₃ gives."""
    codes = sinusoidal_encoding(n, d)
    return codes @ shift_matrix(-3, d).T @ codes.T


def decaying_scores(n, d):
    return -np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)


@refuted(here=projected_scores, as_claimed=[decaying_scores])
def test_a_head_can_look_three_back(scores):
    """“So attention decays with distance.”"""
    best = scores(100, 64).argmax(axis=1)
    assert (best[3:] == np.arange(97)).all()


@refuted(
    here=similarity,
    as_claimed=[lambda offsets, d: np.sin(np.outer(offsets, inverse_frequencies(d))).mean(1)],
)
def test_the_similarity_is_even(kernel):
    """“The similarity tells left from right.”"""
    offsets = np.arange(1.0, 500)
    assert np.allclose(kernel(offsets, 64), kernel(-offsets, 64), rtol=0, atol=1e-12)


@cache
def losses(position, metric, steps=2000):
    """Losses of the recorded study of lengths, one a seed, without what stretches or tunes."""
    return np.array(
        [
            record["metrics"][metric]
            for record in load_records("length")
            if (record["config"]["position"], record["config"]["steps"]) == (position, steps)
            and not record["config"]["measure_options"]
            and "max_distance" not in dict(record["config"]["position_options"])
        ]
    )


def lost_at_16_times_the_length(position):
    return losses(position, "blocks_1024") - losses(position, "blocks_64")


@refuted(here="sinusoidal", as_claimed=["alibi", "transformer-xl"])
def test_sinusoids_fail_beyond_the_training_length(position):
    """“Sinusoidal encoding extrapolates to longer texts.”"""
    assert lost_at_16_times_the_length(position).min() > 1


@refuted(here="rope", as_claimed=["alibi", "transformer-xl"])
def test_rotary_fails_beyond_the_training_length(position):
    """“RoPE extrapolates to longer texts.”"""
    assert lost_at_16_times_the_length(position).min() > 1


@refuted(
    here=lambda metric: losses("alibi", metric),
    as_claimed=[lambda metric: losses("alibi", metric) - 0.1 * (metric == "blocks_256")],
)
def test_no_loss_at_four_times_the_length_and_no_use_of_it(losses):
    """“No loss at four times the length, so the model uses it.”

    A window of the trained length reads as well.
    """
    assert (losses("blocks_256") - losses("blocks_64")).max() < 0.02
    assert (losses("blocks_256") - losses("windows_64")).min() > 0


def facts_found_at_four_times_the_length(position):
    """Share of texts with all eight answers right, one a seed, trained at 64 and read at 256."""
    return [
        record["metrics"]["exact_256"]
        for record in load_records("far")
        if (record["config"]["task"], record["config"]["length"]) == ("facts", 64)
        and record["config"]["position"] == position
    ]


@refuted(here="alibi", as_claimed=["rope"])
def test_alibi_finds_facts_beyond_its_training_length(position):
    """“ALiBi only sees what is near.”"""
    found = facts_found_at_four_times_the_length(position)
    assert len(found) == 5 and min(found) > 0.5


@cache
def accuracies(position):
    return np.array(
        [
            record["metrics"]["accuracy_1"]
            for record in load_records("tasks")
            if (record["config"]["position"], record["config"]["task"]) == (position, "copy")
        ]
    )


def gains_of_a_table():
    """By how much a learned table is better than sinusoids, a seed: in text, in copying."""
    on_text = losses("sinusoidal", "test_loss", 500) - losses("learned", "test_loss", 500)
    return on_text, accuracies("learned") - accuracies("sinusoidal")


@refuted(
    here=gains_of_a_table,
    as_claimed=[
        lambda: [np.abs(gain) for gain in gains_of_a_table()],
        lambda: [-np.abs(gain) for gain in gains_of_a_table()],
    ],
)
def test_a_learned_table_is_better_here_and_worse_there(gains):
    """“A learned table is better than sinusoids”, or worse."""
    on_text, in_copying = gains()
    assert on_text.max() < 0 < in_copying.min()


def test_the_page_states_the_gaps_of_the_learned_table():
    text = (Path(__file__).parents[1] / "book" / "misconceptions.md").read_text(encoding="utf-8")
    gaps = [
        (losses("learned", "windows_64", n) - losses("sinusoidal", "windows_64", n)).mean()
        for n in (500, 2000)
    ]
    sentence = "{:.2f} nats behind after 500 steps and {:.2f} after 2000".format(*gaps)
    assert sentence in " ".join(text.split())


class Smoothed(LearnedEncoding):
    """Rows that share what they learn."""

    def embed(self, x, positions):
        return super().embed(x, positions) + self.weight.mean(0)


@refuted(here=LearnedEncoding, as_claimed=[Smoothed])
def test_rows_that_no_text_reaches_are_not_trained(table):
    """“A learned table of 512 rows knows all 512 positions.”"""
    method = table(8, 512)
    method.embed(torch.zeros(1, 64, 8), torch.arange(64)).sum().backward()
    assert method.weight.grad.abs().sum(1).nonzero().flatten().tolist() == list(range(64))


# --- about the factor on the embeddings


def ratio(d, factor, init_std):
    """The RMS of a token beside that of its position, as the package draws and scales it."""
    generator = torch.Generator().manual_seed(1)
    tokens = TokenEmbedding(2000, d, init_std, factor, generator=generator)(torch.arange(2000))
    return tokens.pow(2).mean().sqrt().item() / math.sqrt(0.5)


@refuted(
    here=lambda d: ratio(d, math.sqrt(d), d**-0.5),
    as_claimed=[lambda d: ratio(d, 1 / math.sqrt(d), d**-0.5)],
)
def test_small_embeddings_are_multiplied(louder):
    """“Embeddings should be divided by √d, as attention divides.”"""
    for d in (64, 512):
        assert louder(d) == pytest.approx(math.sqrt(2), rel=0.02)


def first_step(scale):
    """Logits, loss and gradients of a model as the paper draws it, with another factor."""
    config = TransformerConfig(500, 256, 2, 4, 256, norm="post", scale=scale)
    transformer = Transformer(config, SinusoidalEncoding(256))
    tokens = torch.randint(500, (4, 33), generator=torch.Generator().manual_seed(2))
    logits = transformer(tokens[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    return logits, loss, [weight.grad for weight in transformer.parameters()]


@refuted(here=1.0, as_claimed=[1e30])
def test_nothing_overflows_without_the_factor(scale):
    """“The factor √d_model is there for numerical stability.”"""
    logits, loss, gradients = first_step(scale)
    assert logits.abs().max() < 20 and loss < 2 * math.log(500)
    assert all(0 < gradient.abs().max() < 100 for gradient in gradients)


def norm_of_a_sum(factor, token, code):
    return F.layer_norm(factor * token + code, token.shape[-1:], eps=0)


@refuted(
    here=norm_of_a_sum,
    as_claimed=[lambda factor, token, code: norm_of_a_sum(1.0, factor * token, factor * code)],
)
def test_a_layer_norm_keeps_the_ratio_of_two_parts(normed):
    """“A LayerNorm follows, so the factor cannot matter.”"""
    token = torch.randn(64, 128, generator=torch.Generator().manual_seed(3)).double() * 128**-0.5
    code = torch.tensor(sinusoidal_encoding(64, 128))
    assert (normed(math.sqrt(128), token, code) - normed(1.0, token, code)).abs().max() > 0.5


@cache
def ends(arm):
    """Test loss by seed: untied, post-norm."""
    runs = by_cell("mechanism", load_records("mechanism"))
    (cell,) = (cell for cell in runs if cell.name == f"post, untied: {arm}")
    return {seed: run["metrics"]["test_loss"] for seed, run in runs[cell].items()}


def gap(these, those):
    """Mean difference of two arms over the seeds that both have."""
    seeds = sorted(ends(these).keys() & ends(those).keys())
    return np.mean([ends(these)[seed] - ends(those)[seed] for seed in seeds])


@refuted(here=gap, as_claimed=[lambda these, those: 0.0])
def test_the_factor_changes_more_than_the_ratio(gap):
    """“The factor only sets the ratio of word to position.”

    From one ratio at the start, and on one path of it, a fast table is better than a slow one.
    """
    assert gap("QF", "QS") < -0.2
    assert gap("Y", "QF") > 0.05


@refuted(here=gap, as_claimed=[lambda these, those: gap("QS", those)])
def test_a_rate_of_its_own_makes_up_for_the_factor(gap):
    """“No learning rate makes up for a missing factor.”

    √d times the rate for the table alone, beside the factor.
    """
    assert gap("QF", "LF") < 0.02


@refuted(
    here=lambda d, init_std: ratio(d, math.sqrt(d), init_std),
    as_claimed=[lambda d, init_std: ratio(d, math.sqrt(d), d**-0.5)],
)
def test_the_factor_suits_one_initialisation(louder):
    """“The paper multiplies, so multiplying is right.”"""
    assert louder(512, 512**-0.5) == pytest.approx(math.sqrt(2), rel=0.02)
    assert louder(512, 1.0) == pytest.approx(32, rel=0.02)


@cache
def first_and_last(arm):
    """The loss before the first step and at the end, a pair a seed: tied, post-norm."""
    runs = by_cell("mechanism", load_records("mechanism"))
    (cell,) = (cell for cell in runs if cell.name == f"post, tied: {arm}")
    return np.array(
        [(run["curve"][0][1], run["metrics"]["test_loss"]) for run in runs[cell].values()]
    )


FACTOR, NO_FACTOR = "T-LF", "T-QS"


@refuted(
    here=first_and_last,
    as_claimed=[lambda arm: first_and_last(NO_FACTOR if arm == FACTOR else FACTOR)],
)
def test_the_better_start_has_the_worse_end(run):
    """“A lower first loss means a better start.”"""
    (first, last), (first_without, last_without) = run(FACTOR).mean(0), run(NO_FACTOR).mean(0)
    assert first > first_without + 0.1 and last < last_without - 0.2


# --- about other uses


def on_a_grid(row, column):
    """The similarity of two patches so far apart, from the code of the package."""
    codes = sinusoidal_encoding_2d(row + 1, column + 1, 64)
    return codes[0, 0] @ codes[row, column] / 32


@refuted(here=on_a_grid, as_claimed=[lambda row, column: math.exp(-math.hypot(row, column) / 5)])
def test_similarity_on_a_grid_is_no_function_of_distance(kernel):
    """“A code of rows and columns tells how far apart two patches are.”"""
    assert math.hypot(0, 6) > math.hypot(3, 3) and kernel(0, 6) > kernel(3, 3)


def by_axes(dy, dx):
    """The score of one query and one key, whose pairs belong to one axis each."""
    return _turned_score(axial_frequencies((16, 16), 100.0), dy, dx)


def by_directions(dy, dx):
    return _turned_score(np.random.default_rng(1).normal(size=(2, 16)), dy, dx)


def _turned_score(frequencies, dy, dx):
    q, k = torch.randn(2, 1, 1, 1, 32, generator=torch.Generator().manual_seed(0)).double()
    at, here = torch.tensor([[dy, dx]]), torch.tensor([[0, 0]])
    q, k = RotaryAxes(32, frequencies).rotate(q, k, at, here)
    return (q * k).sum().item()


@refuted(here=by_axes, as_claimed=[by_directions])
def test_axial_rotary_cannot_prefer_one_diagonal(score):
    """“With rotary on rows and columns a head can look in any direction.”"""
    for dy, dx in ((1, 1), (3, 2), (5, 9)):
        one, other = score(dy, dx) + score(-dy, -dx), score(dy, -dx) + score(-dy, dx)
        assert abs(one - other) < 1e-12


def exchanged(table):
    """A sine where the cosine was, in each pair."""
    return table.reshape(len(table), -1, 2)[:, :, ::-1].reshape(table.shape)


@refuted(here=exchanged, as_claimed=[lambda table: table])
def test_exchanged_pairs_turn_the_other_way(read):
    """“Exchanging sines and cosines only renames the features.”"""
    now, later = read(sinusoidal_encoding(50, 16)), read(sinusoidal_encoding(3 + np.arange(50), 16))
    assert np.allclose(now @ shift_matrix(-3, 16).T, later, rtol=0, atol=1e-12)
