"""Purpose of loading a checkpoint: to resume a training, or to start from a base model."""

from __future__ import annotations

import re

from gpualert_common.classify.tracebacks.traceback import Traceback

_RESUME_PLACES = re.compile(
    r":(?:\w+_)?resum(?:e|ed|ing)(?:_\w+)?$"
    r"|checkpoint_connector\.py:"
    r"|trainer\.py:(?:_load_from_checkpoint|_load_optimizer_and_scheduler|_load_rng_state)$"
    r"|torch/(?:optim|amp)/\w+\.py:load_state_dict$"
    r"|:setup_model_and_optimizer$"
    r"|deepspeed/runtime/engine\.py:\w*load_\w*checkpoint$"
)
"""Functions that run only when a training resumes: of Transformers, Lightning, Megatron-LM and
DeepSpeed.

A base model has no optimizer, so loading the state of an optimizer means to resume.
"""
_TEST_PLACES = re.compile(r":_(?:test|validate|predict)_impl$")
_RESUME_TEXTS = re.compile(
    r"(?i)\bresum(?:e|ed|ing)\b|No valid checkpoint found in output directory"
    r"|Can't find a valid checkpoint at|loaded state dict (?:contains a parameter group|has a "
    r"different number)|not specified in param_groups|restore (?:optimizer|training|learning rate)"
    r"|Missing optimizer state|used a DP world size of|optimizer state partitioning"
    r"|['\"/](?:optim(?:izer)?\w*|trainer_state|scheduler)\.(?:pt|bin|json)\b"
)
_BASE_MODEL_PLACES = re.compile(
    r":(?:from_pretrained|_load_pretrained_model|load_pretrained\w*|warm_start\w*)$"
    r"|tensorflow/|:_(?:test|validate|predict)_impl$"
)


def is_resuming(exception: Traceback) -> bool:
    """Return whether an exception was raised while the state of a training was loaded."""
    places = [place for one in exception.chain() for place in one.places]
    if any(_TEST_PLACES.search(place) for place in places):
        return False
    if any(_RESUME_PLACES.search(place) for place in places):
        return True
    texts = (exception.message, exception.source)
    return any(_RESUME_TEXTS.search(text) for text in texts)


def is_loading_base_model(exception: Traceback) -> bool:
    """Return whether an exception was raised while the weights of a base model were loaded."""
    places = (place for one in exception.chain() for place in one.places)
    return any(_BASE_MODEL_PLACES.search(place) for place in places)
