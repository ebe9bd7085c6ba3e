"""The knobs of a training: rates by group, the optimiser, clipping, and dropout in a run."""

from dataclasses import replace

import pytest
import torch
from test_training import small

from sinpe.training import Run, train
from sinpe.training.loop import _loss


def untied(**changes):
    return small(model=replace(small().model, tied=False), **changes)


def weights(run):
    """Copies of the weights, by the group they belong to."""
    return {
        name: [weight.detach().clone() for weight in group] for name, group in run._groups().items()
    }


def moved(config):
    """Whether each group moved in a training, and by how much its first weight did."""
    run = Run(config)
    before = weights(run)
    after = weights(run.fit())
    return {
        name: [not torch.equal(a, b) for a, b in zip(before[name], after[name], strict=True)]
        for name in before
    }


def test_every_weight_belongs_to_one_group():
    for config in (small(), untied()):
        run = Run(config)
        groups = run._groups()
        assert sorted(id(w) for group in groups.values() for w in group) == sorted(
            id(w) for w in run.model.parameters()
        )
        assert groups["table"] == [run.model.embedding.table.weight]
        assert bool(groups["output"]) != config.model.tied


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("frozen", ["table", "output", "rest"])
def test_a_group_whose_rate_is_0_stays_to_the_last_bit_and_the_others_move(frozen, optimizer):
    found = moved(untied(optimizer=optimizer, **{f"{frozen}_rate": 0.0}))
    for name, changes in found.items():
        assert not any(changes) if name == frozen else any(changes), name
    assert all(all(changes) for name, changes in found.items() if name in ("table", "output")) == (
        frozen == "rest"
    )


@pytest.mark.parametrize("group", ["table", "output", "rest"])
def test_the_first_step_of_adam_is_the_rate_of_the_group(group):
    """Adam's first update is its rate times the sign of the gradient, up to epsilon."""
    config = untied(steps=1, warmup=0, evaluations=1, clip=None, **{f"{group}_rate": 7.0})
    run = Run(config)
    before = weights(run)
    after = weights(run.fit())
    for name in before:
        step = max(
            (b - a).abs().max().item() for a, b in zip(before[name], after[name], strict=True)
        )
        # the schedule ends at a tenth
        expected = config.learning_rate * 0.1 * (7 if name == group else 1)
        assert step == pytest.approx(expected, rel=0.01)


def test_rates_of_1_are_one_rate():
    """The same as one group with one rate, to the last bit."""
    config = small()
    run = Run(config).fit()
    other = Run(config)
    other.optimizer = lambda: torch.optim.AdamW(
        [{"params": list(other.model.parameters()), "name": "rest"}],
        betas=(0.9, 0.98),
        weight_decay=0.0,
        fused=True,
    )
    other.fit()
    for a, b in zip(run.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(a, b)


def gradients_after_a_step(clip):
    """(gradients that the optimizer saw, gradients of the loss) of one step."""
    run = Run(small(clip=clip))
    batch = run.held_out("validation", 16)[0]
    optimizer, seen = run.optimizer(), []
    optimizer.register_step_pre_hook(
        lambda *_: seen.extend(p.grad.clone() for p in run.model.parameters())
    )
    loss = _loss(run.model(batch[0]), batch[1])
    plain = torch.autograd.grad(loss, list(run.model.parameters()))
    run.step(optimizer, batch)
    return torch.cat([g.flatten() for g in seen]), torch.cat([g.flatten() for g in plain])


def test_clipping_scales_all_gradients_to_the_norm_and_its_absence_none():
    seen, plain = gradients_after_a_step(None)
    assert torch.equal(seen, plain)
    clip = plain.norm().item() / 3
    seen, plain = gradients_after_a_step(clip)
    assert seen.norm().item() == pytest.approx(clip, rel=1e-4)
    assert torch.allclose(seen * 3, plain, rtol=1e-4)
    seen, plain = gradients_after_a_step(plain.norm().item() * 3)
    assert torch.equal(seen, plain)


def test_sgd_follows_the_gradient_with_momentum():
    """Two steps on one batch, by hand."""
    config = small(optimizer="sgd", clip=None, learning_rate=0.1)
    run, other = Run(config), Run(config)
    batch = run.held_out("validation", 16)[0]
    optimizer = run.optimizer()
    for _ in range(2):
        run.step(optimizer, batch)
    speed = [torch.zeros_like(p) for p in other.model.parameters()]
    for _ in range(2):
        loss = _loss(other.model(batch[0]), batch[1])
        gradients = torch.autograd.grad(loss, list(other.model.parameters()))
        speed = [0.9 * v + g for v, g in zip(speed, gradients, strict=True)]
        with torch.no_grad():
            for p, v in zip(other.model.parameters(), speed, strict=True):
                p -= 0.1 * v
    for a, b in zip(run.model.parameters(), other.model.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_dropout_works_in_steps_alone_and_a_run_with_it_repeats():
    config = small()
    config = replace(config, model=replace(config.model, dropout=0.3))
    first, again = train(config), train(config)
    assert first["curve"] == again["curve"] and first["metrics"] == again["metrics"]
    assert first["curve"] != train(small())["curve"]
    assert first["curve"][0] == train(small())["curve"][0]  # before the first step
    run = Run(config)
    batch = run.held_out("validation", 16)[0]
    before = run.evaluate([batch])["loss"]
    assert run.step(run.optimizer(), batch) != before  # the step saw masks
    assert not run.model.training and not run.fit().model.training
    assert torch.equal(run.model(batch[0]), run.model(batch[0]))


def test_a_step_that_failed_leaves_no_masks_in_what_is_read_afterwards():
    config = small()
    run = Run(replace(config, model=replace(config.model, dropout=0.3)))
    data = run.held_out("validation", 16)
    before = run.evaluate(data)
    tokens, targets = data[0]
    with pytest.raises(ValueError, match="tokens must be in"):
        run.step(run.optimizer(), (tokens + 1000, targets))
    assert run.evaluate(data) == run.evaluate(data) == before


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_tied_matrix_that_is_frozen_is_frozen_as_the_output_and_the_others_alone_are_clipped(
    optimizer,
):
    run = Run(small(table_rate=0, optimizer=optimizer, clip=1e-3))
    run.model.embedding.table.weight.grad = torch.full_like(
        run.model.embedding.table.weight, 1e6
    )  # of an earlier training, say
    start, batch = weights(run), run.held_out("validation", 16)[0]
    run.step(run.optimizer(), batch)
    assert torch.equal(run.model.embedding.table.weight, start["table"][0])
    assert run.model.embedding.table.weight.grad is None
    parts = [weight.grad.norm() for weight in run._groups()["rest"]]
    assert torch.stack(parts).norm().item() == pytest.approx(1e-3, rel=1e-3)


def test_another_seed_draws_other_masks():
    config = small()
    config = replace(config, model=replace(config.model, dropout=0.3))
    masks = []
    for seed in (0, 0, 1):
        dropout = Run(replace(config, seed=seed)).model.dropout.train()
        masks.append(dropout(torch.ones(50)))
    assert torch.equal(masks[0], masks[1]) and not torch.equal(masks[0], masks[2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table_rate": -1.0}, r"table_rate must be 0 or a positive .* -1\.0"),
        ({"table_rate": False}, "table_rate .* False"),
        ({"rest_rate": float("nan")}, "rest_rate .* nan"),
        ({"rest_rate": 10**400}, "rest_rate .* 1329 bits"),
        ({"output_rate": float("inf")}, "output_rate .* inf"),
        ({"rest_rate": "1"}, "rest_rate .* '1'"),
        (
            {"table_rate": 0, "output_rate": 0, "rest_rate": 0},
            "one of table_rate, output_rate, rest_rate must be above 0",
        ),
        ({"optimizer": "adam"}, "optimizer must be 'adamw' or 'sgd', got 'adam'"),
        ({"clip": 0}, "clip .* 0"),
        ({"log_every": -1}, "log_every must be a non-negative integer, got -1"),
        ({"treatment": "none of them"}, "treatment must be one of .*'yoked', got 'none of them'"),
        (
            {"treatment": "pinned", "treatment_options": (("x", 1),)},
            r"treatment_options \(\('x', 1\),\) do not suit 'pinned'",
        ),
        ({"treatment_options": 5}, "treatment_options must be a tuple of pairs.*, got 5"),
        ({"treatment": "pinned", "table_rate": 0}, "needs a table that moves, got table_rate=0"),
        (
            {"treatment": "pinned", "measure": "multiples"},
            "treatment 'pinned' moves a factor .* got measure='multiples'",
        ),
        (
            {"treatment": "scaled-way-in", "treatment_options": (("factor", -1.0),)},
            r"factor .* -1\.0",
        ),
        (
            {"treatment": "scaled-way-in", "treatment_options": (("factor", False),)},
            "factor must be 0 or a positive .* False",
        ),
        (
            {"treatment": "yoked", "treatment_options": (("table_rate", 0.0),)},
            r"table_rate .* 0\.0",
        ),
    ],
)
def test_bad_knobs_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        untied(**changes)


def test_a_tied_matrix_has_no_output_to_rate_or_to_copy_to():
    with pytest.raises(ValueError, match=r"output_rate must be 1 .*tied=True\), got 2\.0"):
        small(output_rate=2.0)
    with pytest.raises(ValueError, match="one of table_rate, rest_rate must be above 0"):
        small(table_rate=0, rest_rate=0)
    with pytest.raises(ValueError, match="needs an output of its own, got tied=True"):
        small(treatment="copied-output")
