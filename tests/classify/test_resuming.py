"""The log shows whether a checkpoint is loaded to resume or to start from."""

from __future__ import annotations

import pytest

from gpualert_common.classifier import RunClassifier
from gpualert_common.spec import EndFacts, Ending
from tests.scenarios.logs import traceback

SHAPE = "RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for a.weight: x"
CUT_OFF = "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central"
GROUPS = "ValueError: loaded state dict has a different number of parameter groups"
NOTHING = "ValueError: No valid checkpoint found in output directory (out)"

TO_RESUME = {
    "own_function": (SHAPE, "main", "train.py:maybe_resume:model.load_state_dict(state)"),
    "transformers": (CUT_OFF, "/opt/transformers/trainer.py:_load_from_checkpoint:load(file)"),
    "lightning": (CUT_OFF, "/opt/lightning/checkpoint_connector.py:resume_start:load(file)"),
    "megatron": (CUT_OFF, "training.py:setup_model_and_optimizer:x", "ck.py:load_checkpoint:x"),
    "deepspeed": (CUT_OFF, "/opt/deepspeed/runtime/engine.py:load_checkpoint:x"),
    "optimizer": (GROUPS, "main", "/opt/torch/optim/optimizer.py:load_state_dict:raise"),
    "words": (NOTHING, "main", "/opt/transformers/trainer.py:train:raise"),
}
TO_START_FROM = {
    "base_model": (CUT_OFF, "main", "/opt/transformers/modeling_utils.py:from_pretrained:x"),
    "lightning_test": (
        CUT_OFF,
        "/opt/lightning/trainer.py:_test_impl:x",
        "/opt/lightning/checkpoint_connector.py:_restore_modules:x",
    ),
    "lightning_model": (SHAPE, "/opt/lightning/core/saving.py:_load_from_checkpoint:x"),
    "plain": (SHAPE, "main", "/opt/torch/nn/modules/module.py:load_state_dict:raise"),
}


def family(message: str, *frames: str) -> str | None:
    """Return the family of the verdict on a log with this end."""
    classifier = RunClassifier()
    classifier.feed("output.log", f"starting\n{traceback(message, *frames)}".encode(), 0)
    ending = Ending(1.0, 2.0)
    ending.code = 1
    verdict = classifier.conclude(ending, EndFacts())
    assert verdict.cause == "checkpoint"
    return verdict.family


@pytest.mark.parametrize("name", TO_RESUME)
def test_to_resume(name: str) -> None:
    """Functions and texts that only occur in resumed trainings."""
    assert family(*TO_RESUME[name]) == "E2"


@pytest.mark.parametrize("name", TO_START_FROM)
def test_to_start_from(name: str) -> None:
    """Base models, tests, and ambiguous cases."""
    assert family(*TO_START_FROM[name]) == "A1"
