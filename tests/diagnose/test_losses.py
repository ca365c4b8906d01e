"""Verdicts on the losses and checkpoints of a log alone, as ``gpualert classify`` makes them."""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Callable
from random import Random

import pytest

from gpualert_common.classifier import RunClassifier
from gpualert_common.model import Verdict
from gpualert_common.spec import EndFacts, Ending

LEVEL = math.log(10)
Loss = Callable[[float], float]


def classify(log: str, code: int | None = 0) -> Verdict:
    """Return the verdict on a log, whose exit status may be unknown."""
    classifier = RunClassifier()
    classifier.feed_stream(io.BytesIO(log.encode()), "train.log")
    ending = Ending(0.0)
    ending.code = code
    return classifier.conclude(ending, EndFacts())


def log_of(loss: Loss, head: str = "", tail: str = "", count: int = 300, seed: int = 1) -> str:
    """Return a log with a head, and a line for each step."""
    chance = Random(seed)
    losses = (loss(step / count) + chance.gauss(0, 0.002) for step in range(count))
    lines = (f"step {step}: loss {value:.4f}{tail}\n" for step, value in enumerate(losses))
    return f"{head}\n" + "".join(lines)


def at_chance(_part: float) -> float:
    """Stay at the loss of guessing among ten classes."""
    return LEVEL


@pytest.mark.parametrize("code", [0, None])
@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("num_classes: 10", ""),
        ("Namespace(lr=0.1, num_classes=10)", ""),
        ("Found 60000 files belonging to 10 classes.", ""),
        ("", " acc 0.104"),
        ("", " accuracy: 9.8%"),
    ],
)
def test_chance_level(head: str, tail: str, code: int | None) -> None:
    """A loss of ln 10 does not learn if ten classes, or an accuracy of a tenth, are printed."""
    verdict = classify(log_of(at_chance, head, tail), code)
    assert (verdict.cause, verdict.family, verdict.details["classes"]) == ("not_learning", "E1", 10)
    assert any("ln(10) = 2.303" in claim.claim for claim in verdict.shows)
    assert verdict.confidence < 0.9


def test_chance_level_of_a_vocabulary() -> None:
    """The padded vocabulary of a language model counts."""
    head = "> padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)"
    verdict = classify(log_of(lambda _part: math.log(50304), head))
    assert (verdict.cause, verdict.details["classes"]) == ("not_learning", 50304)


@pytest.mark.parametrize("seed", range(12))
def test_flat_losses_are_not_healthy(seed: int) -> None:
    """A flat loss with noise, and no number of classes, is unverifiable: neither good nor bad."""
    verdict = classify(log_of(at_chance, seed=seed))
    assert (verdict.cause, verdict.details.get("health")) == ("none", "unverifiable")
    assert verdict.confidence < 0.9


def test_unknown_end_of_flat_losses() -> None:
    """Without an exit status nothing is said about such a loss."""
    assert classify(log_of(at_chance), None).cause == "unknown"


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("only at the beginning", log_of(lambda part: LEVEL - 1.5 * part, "num_classes: 10")),
        ("a slow start", log_of(lambda part: LEVEL - max(0.0, part - 0.5), "num_classes: 10")),
        ("another number", log_of(at_chance, "num_classes: 7")),
        ("another accuracy", log_of(at_chance, "num_classes: 10", " acc 0.41")),
        ("a short run", log_of(at_chance, "num_classes: 10", count=60)),
        ("few losses", log_of(at_chance, "num_classes: 10", count=15)),
        ("slow learning", log_of(lambda part: LEVEL - 0.02 * part, "num_classes: 10")),
        ("an evaluation", log_of(at_chance, "num_classes: 10").replace("step", "eval step")),
        (
            "a warm-up",
            "num_classes: 10\n"
            + "".join(f"step {n}: loss 2.3026 lr {n * 1e-6:.2e}\n" for n in range(300)),
        ),
        (
            "two opponents",
            "num_classes: 2\n"
            + "".join(f"step {n}: d_loss 0.6931 g_loss 0.6931 loss 0.6931\n" for n in range(300)),
        ),
    ],
    ids=lambda value: value if " " in value and len(value) < 30 else "",
)
def test_no_chance_level(name: str, log: str) -> None:
    """A start there, a short run, a warm-up, and other numbers are no sign."""
    assert classify(log).cause == "none", name


def test_rewards_of_zero() -> None:
    """A training by reward whose rewards and gradients are exactly 0 does not learn."""
    line = "{{'loss': 0.0, 'grad_norm': {}, 'learning_rate': 1e-06, 'reward': {}, 'epoch': {}}}\n"
    silent = "".join(line.format(0.0, 0.0, n / 40) for n in range(1, 41))
    assert classify(silent).cause == "not_learning"
    rare = "".join(line.format(0.1 * (n % 9 == 0), n % 9 == 0, n / 40) for n in range(1, 41))
    assert classify(rare.replace("True", "1.0").replace("False", "0.0")).cause == "none"


def test_headline_has_numbers_of_the_log() -> None:
    """First, last and lowest loss are in the headline and cited as the log has them."""
    log = log_of(lambda part: 0.3 + 2 * math.exp(-8 * part))
    verdict = classify(log)
    assert verdict.details["health"] == "healthy"
    for name in ("first_loss", "last_loss", "lowest_loss"):
        value = verdict.details[name]
        assert f"loss {value:.4f}" in log
        assert f"{value:g}" in verdict.headline
        assert any(f"loss {value:g}" in claim.claim for claim in verdict.shows)
    assert any("Mann-Kendall" in claim.claim for claim in verdict.shows)


def test_few_losses_are_healthy_with_less_confidence() -> None:
    """Five epochs whose loss clearly falls are healthy, with less confidence than a long series."""
    losses = (0.7003, 0.3125, 0.1210, 0.0674, 0.0458)
    log = "".join(f"epoch {at}/5 loss {loss}\n" for at, loss in enumerate(losses, 1))
    verdict = classify(log)
    assert verdict.details["health"] == "healthy"
    assert verdict.confidence < 0.9
    flat = classify(log.replace("0.3125", "0.7125"))
    assert flat.details["health"] == "unverifiable"


def test_verdict_can_be_sent() -> None:
    """The verdict of an unverifiable run has plain numbers."""
    assert pickle.loads(pickle.dumps(classify(log_of(at_chance)))).confidence < 0.9


def save(line: str, every: int, count: int = 120) -> str:
    """Return the log of a training with that line after each of so many steps."""
    lines = []
    for step in range(1, count + 1):
        lines.append(f"step {step}: loss {0.3 + 2 * math.exp(-step / 20):.4f}")
        lines += [line.format(step=step)] if step % every == 0 else []
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("code", [0, None])
@pytest.mark.parametrize(
    "line",
    [
        "Saved checkpoint to out/ckpt_{step}.pt",
        "Saving checkpoint...\nSaved checkpoint to out/last.pt",
        "Saving model checkpoint: out/global_step{step}/mp_rank_00_model_states.pt",
        "saved checkpoint to out/ckpt-{step}.",
    ],
)
def test_saves_at_every_step(line: str, code: int | None) -> None:
    """Lines about checkpoints, one for each step, are a save storm also in a log alone."""
    verdict = classify(save(line, 1), code)
    assert (verdict.cause, verdict.family) == ("save_storm", "D2")
    assert (verdict.details["saves"], verdict.details["steps"]) == (120, 120)


DEEPSPEED = (
    "Saving model checkpoint: out/global_step{step}/mp_rank_00_model_states.pt\n"
    "[Torch] Saved out/global_step{step}/mp_rank_00_model_states.pt.\n"
    "[Torch] Saved out/global_step{step}/zero_pp_rank_0_mp_rank_00_optim_states.pt."
)


@pytest.mark.parametrize(
    "line",
    [
        "Saving checkpoint to out/ckpt_{step}.pt\nSaved checkpoint to out/ckpt_{step}.pt",
        "Saving checkpoint...\nCheckpoint saved",
        DEEPSPEED,
    ],
)
def test_lines_about_one_checkpoint(line: str) -> None:
    """Several lines about a checkpoint at every third step are no storm."""
    assert classify(save(line, 3)).cause == "none"


def test_saves_of_short_trainings() -> None:
    """A checkpoint at the end of each of many short trainings is no storm."""
    log = "".join(save("Saved checkpoint to out/ckpt.pt", 10, 10) for _ in range(30))
    assert classify(log).cause == "none"
