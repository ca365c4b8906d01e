"""Roles of numbers in a training log, by their names."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, auto
from functools import lru_cache
from typing import Any

from gpualert_common.progress.pairs import Pair


class NumberRole(IntEnum):
    """Role of a number; among counters the highest has priority."""

    NONE = auto()
    RATE = auto()
    NORM = auto()
    ACCURACY = auto()
    REWARD = auto()
    TIME = auto()
    SPEED = auto()
    EPOCH = auto()
    BATCH = auto()
    STEP = auto()
    GLOBAL_STEP = auto()


_BY_LAST_WORD = {
    **dict.fromkeys(b"epoch epochs ep".split(), NumberRole.EPOCH),
    **dict.fromkeys(b"batch batches minibatch".split(), NumberRole.BATCH),
    **dict.fromkeys(
        b"step steps iteration iterations iter iters it update updates".split(), NumberRole.STEP
    ),
    **dict.fromkeys(
        b"num_updates steps_completed global_step global_steps train_step".split(),
        NumberRole.GLOBAL_STEP,
    ),
    **dict.fromkeys(b"lr learning_rate".split(), NumberRole.RATE),
    **dict.fromkeys(
        b"grad_norm gnorm gn grad gradnorm g_norm gradient_norm grad/norm".split(), NumberRole.NORM
    ),
    **dict.fromkeys(
        b"acc accuracy acc1 acc@1 top1 train_acc train_accuracy accuracy_top1".split(),
        NumberRole.ACCURACY,
    ),
    **dict.fromkeys(b"reward rewards mean_reward reward_mean".split(), NumberRole.REWARD),
    **dict.fromkeys(b"time step_time sec seconds dt".split(), NumberRole.TIME),
    **dict.fromkeys(b"tps wps ups".split(), NumberRole.SPEED),
}
_BY_TWO_WORDS = {
    b"learning rate": NumberRole.RATE,
    b"grad norm": NumberRole.NORM,
    b"gradient norm": NumberRole.NORM,
    b"global step": NumberRole.GLOBAL_STEP,
}
_NO_POSITION = frozenset(
    b"max total num number of warmup logging save eval every per last first final best for after "
    b"accumulation optimization decay in most each by since next nan skipped".split()
)
_SECONDS = {b"us": 1e-6, b"ms": 1e-3, b"s": 1.0, b"": 1.0}
_NAMES = {
    b"tok": "tokens", b"token": "tokens", b"img": "images", b"image": "images", b"ex": "examples",
    b"example": "examples", b"it": "steps", b"iter": "steps", b"step": "steps", b"seq": "sequences",
    b"sample": "samples", b"word": "words",
}  # fmt: skip
_PER_STEP = frozenset(b"step it iter iteration batch".split())
_PER_SECOND = frozenset(b"s sec second".split())


@lru_cache(maxsize=1024)
def find_role(name: bytes) -> NumberRole:
    """Return the role of a name, by its last one or two words."""
    words = name.lower().replace(b"(train)", b"").strip(b"()").split(b" ")
    last = words[-1]
    before = words[-2] if len(words) > 1 else b""
    role = _BY_TWO_WORDS.get(before + b" " + last) or _BY_LAST_WORD.get(last)
    if role is None:
        return NumberRole.SPEED if parse_speed_unit(last) else NumberRole.NONE
    return NumberRole.NONE if role >= NumberRole.EPOCH and before in _NO_POSITION else role


@lru_cache(maxsize=256)
def parse_speed_unit(unit: bytes) -> str | None:
    """Return the normal form of a unit like ``tok/s``; None for other units."""
    what, _, per = unit.lower().partition(b"/")
    if per not in _PER_SECOND:
        return None
    return f"{name}/s" if (name := _NAMES.get(what.rstrip(b"s"))) else None


@lru_cache(maxsize=256)
def _parse_step_unit(unit: bytes) -> float | None:
    """Return the seconds in a unit like ``ms/step``; None for other units."""
    what, _, per = unit.lower().partition(b"/")
    return _SECONDS.get(what or b"-") if per in _PER_STEP else None


def _read_share(pair: Pair) -> float:
    """Return the accuracy in ``12.5 %`` or ``125/1000`` as a share; other numbers as they are."""
    if pair.unit == b"%":
        return pair.value / 100
    return pair.value / pair.total if pair.total else pair.value


def read_measures(found: Iterable[Pair]) -> dict[str, Any]:
    """Return fields of a point: learning rate, gradient norm, step time, throughput, accuracy."""
    fields: dict[str, Any] = {}
    for pair in found:
        role = find_role(pair.name)
        if role is NumberRole.RATE:
            fields.setdefault("learning_rate", pair.value)
        elif role is NumberRole.NORM:
            fields.setdefault("grad_norm", pair.value)
        elif role is NumberRole.ACCURACY:
            fields.setdefault("accuracy", _read_share(pair))
        elif role is NumberRole.REWARD:
            fields.setdefault("reward", pair.value)
        elif role is NumberRole.TIME and pair.unit in _SECONDS:
            fields.setdefault("step_s", pair.value * _SECONDS[pair.unit])
        elif role is NumberRole.SPEED:
            word = pair.name.rpartition(b" ")[2]
            fields.setdefault("throughput", pair.value)
            fields.setdefault("throughput_unit", parse_speed_unit(word) or "tokens/s")
        if pair.unit and (unit := parse_speed_unit(pair.unit)):
            fields.setdefault("throughput", pair.value)
            fields.setdefault("throughput_unit", unit)
        elif pair.unit and (seconds := _parse_step_unit(pair.unit)):
            fields.setdefault("step_s", pair.value * seconds)
    return fields
