"""Was a checkpoint loaded in order to go on with a training, or to begin with a model?"""

from __future__ import annotations

import re

from gpualert_common.classify.traceback_model import Traceback

_PLACES = re.compile(
    r":(?:\w+_)?resum(?:e|ed|ing)(?:_\w+)?$"
    r"|checkpoint_connector\.py:"
    r"|trainer\.py:(?:_load_from_checkpoint|_load_optimizer_and_scheduler|_load_rng_state)$"
    r"|torch/(?:optim|amp)/\w+\.py:load_state_dict$"
    r"|:setup_model_and_optimizer$"
    r"|deepspeed/runtime/engine\.py:\w*load_\w*checkpoint$"
)
"""What only runs where a training goes on: of Transformers, Lightning, Megatron-LM, DeepSpeed.

A base model has no optimizer, so nobody loads the state of one to begin with.
"""
_OF_A_TEST = re.compile(r":_(?:test|validate|predict)_impl$")
_SAID = re.compile(
    r"(?i)\bresum(?:e|ed|ing)\b|No valid checkpoint found in output directory"
    r"|Can't find a valid checkpoint at|loaded state dict (?:contains a parameter group|has a "
    r"different number)|not specified in param_groups|restore (?:optimizer|training|learning rate)"
    r"|Missing optimizer state|used a DP world size of|optimizer state partitioning"
    r"|['\"/](?:optim(?:izer)?\w*|trainer_state|scheduler)\.(?:pt|bin|json)\b"
)
_BASE = re.compile(
    r":(?:from_pretrained|_load_pretrained_model|load_pretrained\w*|warm_start\w*)$"
    r"|tensorflow/|:_(?:test|validate|predict)_impl$"
)


def resumes(found: Traceback) -> bool:
    """True where an exception says that it came up while the state of a training was loaded."""
    places = [place for one in found.chain() for place in one.places]
    if any(_OF_A_TEST.search(place) for place in places):
        return False
    if any(_PLACES.search(place) for place in places):
        return True
    return any(_SAID.search(text) for text in (found.message, found.source))


def loads_a_base(found: Traceback) -> bool:
    """True where it came up while the weights of a base model were loaded."""
    return any(_BASE.search(place) for one in found.chain() for place in one.places)
