"""Catalogue of the scenarios of every family and their near misses, each with its true cause."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from random import Random
from typing import Any

from gpualert_common.classify import load_rules
from tests.scenarios.noise import disturbed, with_sources_missing
from tests.scenarios.scene import Scene

Make = Callable[[Random], Scene]
BY_ITS_RULE = "by its rule"

_WEAKER_HEALTH = {("healthy", "unverifiable"), ("healthy_slow", "healthy")}
"""Pairs of the true health and one that is incomplete, but not wrong."""


class Outcome(StrEnum):
    """Comparison of a verdict with the truth."""

    RIGHT = "right"
    WEAKER = "weaker"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Case:
    """Runs of one kind: ``of`` is the family to which they belong, or nearly belong.

    ``cause`` is the true one, unless a scene has its own, and ``family`` is the expected family.
    ``weaker`` are causes that are acceptable for weak evidence: incomplete, but not wrong.
    ``health`` is that of a good run.  ``real_s`` is the length of its run with a real child; None
    if it is only simulated.
    """

    make: Make
    of: str
    cause: str
    family: str | None
    is_near_miss: bool = False
    weaker: tuple[str, ...] = ()
    health: str = "healthy"
    real_s: float | None = None

    @property
    def name(self) -> str:
        """The name of the function that makes it."""
        return self.make.__name__

    @property
    def is_frozen(self) -> bool:
        """True for a third of all scenarios, by the digest of the name: no threshold is tuned to
        them."""
        return hashlib.sha256(self.name.encode()).digest()[0] % 3 == 0

    def family_of(self, scene: Scene) -> str | None:
        """Return the expected family of one of its variants."""
        return self.family if scene.cause == self.cause else family_of(scene.cause)

    def compare(self, scene: Scene, verdict: Mapping[str, Any]) -> Outcome:
        """Compare cause, family, attribution, and the health of a good run with the truth."""
        cause, family = verdict["cause"], verdict["family"]
        if (cause, family) != (scene.cause, self.family_of(scene)):
            is_weaker = cause in self.weaker and family == family_of(cause)
            return Outcome.WEAKER if is_weaker else Outcome.WRONG
        if scene.attribution and verdict["attribution"] != scene.attribution:
            return Outcome.WEAKER if verdict["attribution"] == "unknown" else Outcome.WRONG
        health = verdict["details"].get("health")
        if cause != "none" or health == self.health:
            return Outcome.RIGHT
        return Outcome.WEAKER if (self.health, health) in _WEAKER_HEALTH else Outcome.WRONG

    def real_variant(self, number: int) -> Scene:
        """Return one of its variants in the length of a run with a real child."""
        assert self.real_s is not None
        scene = self.variant(number)
        silent_s = scene.silent_s * self.real_s / scene.seconds
        return replace(scene, seconds=self.real_s, silent_s=silent_s)

    def variant(self, number: int, *, missing: bool = False) -> Scene:
        """Return one of its variants, always the same one; with *missing*, some sources are
        missing."""
        seed = zlib.crc32(self.name.encode()) + number
        chance = Random(seed)
        scene = self.make(chance)
        scene.seed = seed
        scene.cause = scene.cause or self.cause
        scene = disturbed(scene, chance)
        return with_sources_missing(scene, chance) if missing else scene


CASES: list[Case] = []


def scenario(
    of: str, cause: str, family: str | None = BY_ITS_RULE, **more: Any
) -> Callable[[Make], Make]:
    """Register runs of that family with this cause; *more* are fields of :class:`Case`."""
    return _adds(of, cause, family, is_near_miss=False, **more)


def near_miss(
    of: str, cause: str, family: str | None = BY_ITS_RULE, **more: Any
) -> Callable[[Make], Make]:
    """Register runs that resemble that family and have this true cause."""
    return _adds(of, cause, family, is_near_miss=True, **more)


def by_family() -> Iterator[tuple[str, list[Case], list[Case]]]:
    """Return the scenarios and near misses of each family."""
    for family in sorted({case.of for case in CASES}):
        of_it = [case for case in CASES if case.of == family]
        missed = [case for case in of_it if case.is_near_miss]
        yield family, [case for case in of_it if not case.is_near_miss], missed


_rules = cache(load_rules)


@cache
def family_of(cause: str) -> str | None:
    """Return the family in the rule of a cause."""
    return _rules().by_cause[cause].family


def is_crossed(scene: Scene, verdict: Mapping[str, Any]) -> bool:
    """Return whether job and machine are confused."""
    true = scene.attribution or _rules().by_cause[scene.cause].attribution.value
    return {true, verdict["attribution"]} == {"job", "infrastructure"}


def _adds(of: str, cause: str, family: str | None, **more: Any) -> Callable[[Make], Make]:
    def add(make: Make) -> Make:
        found = family_of(cause) if family == BY_ITS_RULE else family
        CASES.append(Case(make, of, cause, found, **more))
        return make

    return add
