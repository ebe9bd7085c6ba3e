"""Treatments do what they say and nothing else, and the log reads without touching."""

import math
from dataclasses import replace

import pytest
import torch
from test_training import small
from tiny_study import decoder
from torch.nn import functional as F

from sinpe.positions import SinusoidalEncoding
from sinpe.tasks import build_task
from sinpe.text import english
from sinpe.training import Run, build_position, train
from sinpe.training.log import attention_entropy
from sinpe.training.loop import _loss
from sinpe.training.treatments import frequencies, loudness, weighted_rms


def text(position="sinusoidal", *, tied=False, **changes):
    """A run of a few steps on text, without clipping unless it is asked for."""
    config = decoder(position=position, steps=6)
    model = replace(config.model, tied=tied, scale=1.0, d_ff=16, n_layers=2)
    return replace(config, **{"model": model, "clip": None, **changes})


def same(one, other):
    return all(
        torch.equal(a, b)
        for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True)
    )


def test_loudness_is_weighted_by_how_often_a_token_occurs():
    run = Run(text())
    ids = english().split("train")
    rows = run.model.embedding(ids[:200_000][None]).detach()
    assert loudness(run.model, frequencies(run.task)) == pytest.approx(
        rows.square().mean().sqrt().item(), rel=0.02
    )
    weights = frequencies(run.task)
    assert weights.sum().item() == pytest.approx(1)
    assert weights[3] == (ids == 3).float().mean()
    assert frequencies(build_task("which_first")).tolist() == pytest.approx([1 / 8] * 8)
    rows, weights = torch.tensor([[3.0, 4.0], [1.0, 1.0]]), torch.tensor([0.25, 0.75])
    assert weighted_rms(rows, weights) == pytest.approx(math.sqrt(0.25 * 12.5 + 0.75))


def test_a_copied_output_starts_as_the_embeddings_and_goes_its_own_way():
    run = Run(text(treatment="copied-output"))
    run.treatment.start(run)
    table, output = run.model.embedding.table.weight, run.model.unembedding.weight
    assert torch.equal(table, output) and table.data_ptr() != output.data_ptr()
    tied = Run(replace(run.config, model=replace(run.config.model, tied=True), treatment="none"))
    tokens = run.held_out("test", 4)[0][0]
    assert torch.equal(run.model(tokens), tied.model(tokens))
    run = Run(text(treatment="copied-output")).fit()
    assert not torch.equal(run.model.embedding.table.weight, run.model.unembedding.weight)
    assert run.curve[0] == (0, tied.fit().curve[0][1])


@pytest.mark.parametrize("factor", [0.0, 0.5, 8.0])
@pytest.mark.parametrize("tied", [True, False])
def test_the_way_in_is_scaled_backward_alone(factor, tied):
    """Against both ways taken apart by hand: the lookup with a matrix of its own."""
    config = text(tied=tied)
    plain = Run(config)
    treated = Run(
        replace(config, treatment="scaled-way-in", treatment_options=(("factor", factor),))
    )
    treated.treatment.start(treated)
    tokens, targets = plain.held_out("validation", 4)[0]
    assert torch.equal(plain.model(tokens), treated.model(tokens))
    way_in, total = by_hand(plain, tokens, targets)
    _loss(treated.model(tokens), targets).backward()
    expected = total - way_in + factor * way_in
    assert torch.allclose(treated.model.embedding.table.weight.grad, expected, atol=1e-7)
    others = [p for p in plain.model.parameters() if p.shape != total.shape]
    again = [p.grad for p in treated.model.parameters() if p.shape != total.shape]
    _loss(plain.model(tokens), targets).backward()
    assert all(torch.equal(p.grad, g) for p, g in zip(others, again, strict=True))


def test_a_run_that_is_trained_again_is_treated_as_before():
    run = Run(text(treatment="scaled-way-in", treatment_options=(("factor", 3.0),)))
    for _ in range(2):
        run.treatment.start(run)
    tokens, targets = run.held_out("validation", 4)[0]
    way_in, total = by_hand(Run(text()), tokens, targets)
    _loss(run.model(tokens), targets).backward()
    assert torch.allclose(run.model.embedding.table.weight.grad, 3 * total, atol=1e-6)
    assert torch.equal(way_in, total)  # untied, there is no other way


def test_an_output_is_copied_once():
    run = Run(text(treatment="copied-output")).fit()
    before = run.model.unembedding.weight.clone()
    run.treatment.start(run)
    assert torch.equal(run.model.unembedding.weight, before)


def test_trained_again_a_pinned_run_keeps_its_loudness_and_its_nominal_step():
    run = Run(text(table_rate=100.0, treatment="pinned"))
    start = loudness(run.model, frequencies(run.task))
    for _ in range(2):
        run.fit()
        assert loudness(run.model, frequencies(run.task)) == pytest.approx(start, rel=1e-5)
        assert run.rates["table"] * run.model.embedding.scale == pytest.approx(100.0)


def test_silence_cannot_be_led_and_that_is_said():
    config = text(treatment="pinned")
    config = replace(config, model=replace(config.model, init_std=1e-30))
    with pytest.raises(FloatingPointError, match="loudness of the tokens is 0 at step 1 of"):
        Run(config).fit()


def test_rows_and_gradients_of_zero_are_logged_as_parts_of_zero():
    config = text(treatment="scaled-way-in", treatment_options=(("factor", 0),), log_every=1)
    still = Run(replace(config, rest_rate=0, output_rate=0)).fit()
    assert set(still.log["gradient_norm"]) == set(still.log["table_share"]) == {0.0}
    run = Run(text(log_every=1, tied=True))
    with torch.no_grad():
        run.model.embedding.table.weight.zero_()
    log = run.fit().log
    assert all(math.isfinite(value) for values in log.values() for value in values)
    assert log["input_turn"][0] == log["input_step"][0] > 0  # no row that it could lie along


def by_hand(run, tokens, targets):
    """Gradient of the embedding matrix by the way in alone, and in all, without hooks."""
    model = run.model
    apart = model.embedding.table.weight.detach().clone().requires_grad_()
    forward = model.embedding.forward
    model.embedding.forward = lambda ids: F.embedding(ids, apart) * model.embedding.scale
    (way_in,) = torch.autograd.grad(_loss(model(tokens), targets), [apart])
    model.embedding.forward = forward
    (total,) = torch.autograd.grad(_loss(model(tokens), targets), [model.embedding.table.weight])
    return way_in, total


def paths(config):
    """(loudness, factor, rate of the table) after each step, from the outside."""
    run = Run(config)
    found, after = [], run.treatment.after

    def kept(run, step):
        after(run, step)
        embedding = run.model.embedding
        rows = embedding.table.weight.detach() * embedding.scale
        heard = weighted_rms(rows, frequencies(run.task))
        found.append((heard, embedding.scale, run.rates["table"]))

    run.treatment.after = kept
    start = loudness(run.model, frequencies(run.task))
    run.fit()
    return start, found


def test_pinned_tokens_stay_as_loud_and_keep_their_nominal_step():
    config = text(table_rate=100.0)
    start, plain = paths(config)
    assert plain[-1][0] > 1.05 * start  # it would get louder
    start, found = paths(replace(config, treatment="pinned"))
    for heard, factor, rate in found:
        assert heard == pytest.approx(start, rel=1e-5)
        assert rate * factor == pytest.approx(100.0)


def test_yoked_tokens_are_as_loud_as_the_other_run_and_keep_their_own_rate():
    config = text()
    start, leader = paths(replace(config, table_rate=30.0))
    yoked = replace(config, treatment="yoked", treatment_options=(("table_rate", 30.0),))
    again, found = paths(yoked)
    assert start == again
    for (wanted, _, _), (heard, factor, rate) in zip(leader, found, strict=True):
        assert heard == pytest.approx(wanted, rel=1e-5)
        assert rate * factor == pytest.approx(1.0)
    # yoked to a run as slow as itself it is that run, but for the rounding of factors near 1
    alone = Run(config).fit()
    self_led = Run(replace(yoked, treatment_options=(("table_rate", 1.0),))).fit()
    assert self_led.curve[-1][1] == pytest.approx(alone.curve[-1][1], abs=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tied": True, "clip": 0.1},
        {"table_rate": 0.0},
        {"output_rate": 0.0},
        {"treatment": "copied-output"},
        {"treatment": "pinned"},
        {"position": "alibi", "tied": True},
        {"position": "rope", "treatment": "scaled-way-in", "treatment_options": (("factor", 2.0),)},
    ],
)
def test_a_log_changes_nothing(changes):
    config = text(**changes)
    plain, logged = Run(config).fit(), Run(replace(config, log_every=2)).fit()
    assert same(plain, logged) and plain.curve == logged.curve
    assert plain.log == {}
    assert logged.log["step"] == [1, 2, 4, 6]
    assert {len(values) for values in logged.log.values()} == {4}


def test_the_log_is_right():
    """Each number again by hand, before the first step and after it."""
    config = text(tied=True, log_every=3, clip=0.25)
    log = Run(config).fit().log
    run = Run(config)
    tokens, targets = run.task.batch(
        "train", 4, config.length, torch.Generator().manual_seed(1_000_003)
    )
    close = {"rel": 2e-3, "abs": 1e-6}
    logits = run.model(tokens).detach()
    assert log["training_loss"][0] == pytest.approx(_loss(logits, targets).item(), **close)
    assert log["logit_rms"][0] == pytest.approx(logits.square().mean().sqrt().item(), **close)
    own = [logits[b, s, tokens[b, s]] for b in range(4) for s in range(config.length)]
    assert log["own_logit"][0] == pytest.approx(torch.stack(own).mean().item(), **close)
    way_in, total = by_hand(run, tokens, targets)
    way_out = total - way_in
    _loss(run.model(tokens), targets).backward()
    norm = math.sqrt(sum(p.grad.square().sum().item() for p in run.model.parameters()))
    assert log["gradient_norm"][0] == pytest.approx(norm, **close)
    assert log["clip"][0] == pytest.approx(0.25 / norm, **close) and norm > 0.25
    assert log["table_share"][0] == pytest.approx(total.norm().item() / norm, **close)
    assert log["in_norm"][0] == pytest.approx(way_in.norm().item(), **close)
    assert log["out_norm"][0] == pytest.approx(way_out.norm().item(), **close)
    cosine = F.cosine_similarity(way_in.flatten(), way_out.flatten(), 0).item()
    assert log["in_out_cosine"][0] == pytest.approx(cosine, rel=2e-3, abs=1e-4)
    start = run.model.embedding.table.weight.detach().clone()
    weights = frequencies(run.task)
    assert log["token_rms"][0] == pytest.approx(weighted_rms(start, weights), **close)
    assert log["displacement"][0] == 0
    after = Run(replace(config, log_every=0))
    optimizer = after.optimizer()
    for group in optimizer.param_groups:  # the rate of the first of three steps, warm after one
        group["lr"] = config.learning_rate * (0.55 + 0.45 * math.cos(math.pi / config.steps))
    after.step(optimizer, (tokens, targets))
    step = after.model.embedding.table.weight.detach() - start
    along = (step * start).sum(1, keepdim=True) * start / start.square().sum(1, keepdim=True)
    assert log["input_step"][0] == pytest.approx(weighted_rms(step, weights), **close)
    assert log["input_turn"][0] == pytest.approx(weighted_rms(step - along, weights), **close)


def test_displacement_is_from_the_start_of_the_run():
    config = text(log_every=1, table_rate=5.0)
    log = Run(config).fit().log
    assert log["displacement"][1] == pytest.approx(log["input_step"][0], rel=1e-3)
    assert log["displacement"][-1] > log["displacement"][1]
    longer = Run(replace(config, treatment="pinned")).fit().log
    assert longer["factor"][0] == 1 and longer["factor"][-1] < 1


@pytest.mark.parametrize("position", ["sinusoidal", "rope", "alibi", "shaw"])
@pytest.mark.parametrize("causal", [True, False])
def test_the_entropy_is_that_of_the_weights_that_attention_uses(position, causal):
    """The weights found by reading values that are unit vectors, one a key."""
    config = small(position=position)
    config = replace(config, model=replace(config.model, causal=causal, n_heads=1))
    run = Run(config)
    attention, length = run.model.layers[0].attention, 6
    x = torch.randn(3, length, 16, generator=torch.Generator().manual_seed(4)) * 3
    positions = torch.arange(length)
    with torch.no_grad():
        found = attention_entropy(attention, x, positions)
        marks = torch.zeros(16, 16)
        marks[:length, :length] = torch.eye(length)
        attention.value.forward = lambda y: marks[:length].expand(3, length, 16)
        attention.out.weight.copy_(torch.eye(16))
        weights = attention(x, positions, None)[..., :length]
    assert torch.allclose(weights.sum(-1), torch.ones(3, length), atol=1e-5)
    entropy = -(weights * weights.clamp(min=1e-30).log()).sum(-1).mean().item()
    assert found == pytest.approx(entropy, abs=1e-4)


def test_a_record_has_the_log_in_few_digits():
    record = train(text(log_every=3))
    log = record["metrics"]["log"]
    assert log["step"] == [1, 3, 6] and len(log["training_loss"]) == 3
    assert all(value == float(f"{value:.4g}") for values in log.values() for value in values)
    assert "log" not in train(text())["metrics"]


def test_one_code_everywhere_is_the_mean_of_the_codes_as_loud_as_they_are():
    config = small(position="constant")
    position = build_position(config)
    x = torch.randn(2, 6, 16)
    added = position.embed(x, torch.arange(6)) - x
    assert torch.allclose(added, added[0, 0].expand_as(added), atol=1e-6)
    assert added[0, 0].square().mean().item() == pytest.approx(0.5, rel=1e-5)
    codes = SinusoidalEncoding(16).embed(torch.zeros(1, 6, 16), torch.arange(6))[0]
    assert F.cosine_similarity(added[0, 0], codes.mean(0), 0).item() == pytest.approx(1)
    assert torch.equal(position.embed(x, torch.arange(100, 106)) - x, added)
    assert position.embed(x.bfloat16(), torch.arange(6)).dtype == torch.bfloat16
    with pytest.raises(ValueError, match="position_options .* do not suit 'constant'"):
        build_position(small(position="constant", position_options=(("base", 10.0),)))
