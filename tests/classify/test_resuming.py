"""A checkpoint that is loaded to go on with is told apart from one to begin with, by its log."""

from __future__ import annotations

import pytest

from gpualert_common.classifier import RunClassifier
from gpualert_common.spec import EndFacts, Ending
from tests.scenarios.logs import traceback

SHAPE = "RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for a.weight: x"
CUT_OFF = "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central"
GROUPS = "ValueError: loaded state dict has a different number of parameter groups"
NOTHING = "ValueError: No valid checkpoint found in output directory (out)"

TO_GO_ON = {
    "own_function": (SHAPE, "main", "train.py:maybe_resume:model.load_state_dict(state)"),
    "transformers": (CUT_OFF, "/opt/transformers/trainer.py:_load_from_checkpoint:load(file)"),
    "lightning": (CUT_OFF, "/opt/lightning/checkpoint_connector.py:resume_start:load(file)"),
    "megatron": (CUT_OFF, "training.py:setup_model_and_optimizer:x", "ck.py:load_checkpoint:x"),
    "deepspeed": (CUT_OFF, "/opt/deepspeed/runtime/engine.py:load_checkpoint:x"),
    "optimizer": (GROUPS, "main", "/opt/torch/optim/optimizer.py:load_state_dict:raise"),
    "words": (NOTHING, "main", "/opt/transformers/trainer.py:train:raise"),
}
TO_BEGIN_WITH = {
    "base_model": (CUT_OFF, "main", "/opt/transformers/modeling_utils.py:from_pretrained:x"),
    "lightning_test": (
        CUT_OFF,
        "/opt/lightning/trainer.py:_test_impl:x",
        "/opt/lightning/checkpoint_connector.py:_restore_modules:x",
    ),
    "lightning_model": (SHAPE, "/opt/lightning/core/saving.py:_load_from_checkpoint:x"),
    "plain": (SHAPE, "main", "/opt/torch/nn/modules/module.py:load_state_dict:raise"),
}


def family(said: str, *frames: str) -> str | None:
    """What is told of a log that ends so."""
    judge = RunClassifier()
    judge.feed("output.log", f"starting\n{traceback(said, *frames)}".encode(), 0)
    ending = Ending(1.0, 2.0)
    ending.code = 1
    verdict = judge.conclude(ending, EndFacts())
    assert verdict.cause == "checkpoint"
    return verdict.family


@pytest.mark.parametrize("name", TO_GO_ON)
def test_to_go_on(name: str) -> None:
    """Functions and words that only occur where a training goes on."""
    assert family(*TO_GO_ON[name]) == "E2"


@pytest.mark.parametrize("name", TO_BEGIN_WITH)
def test_to_begin_with(name: str) -> None:
    """Base models, tests, and what leaves it open."""
    assert family(*TO_BEGIN_WITH[name]) == "A1"
