"""Catalogue of the scenarios of every family and their near misses, each with its true cause."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

from gpualert_common.classify import load_rules
from tests.scenarios.noise import disturbed, with_sources_missing
from tests.scenarios.scene import Scene

Make = Callable[[Random], Scene]
BY_ITS_RULE = "by its rule"


@dataclass(frozen=True, slots=True)
class Case:
    """Runs of one kind: ``of`` is the family to which they belong, or nearly belong.

    ``cause`` is the true one, unless a scene has its own, and ``family`` is the expected family.
    ``weaker`` are causes that are acceptable for weak evidence: incomplete, but not wrong.
    """

    make: Make
    of: str
    cause: str
    family: str | None
    is_near_miss: bool = False
    weaker: tuple[str, ...] = ()

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
    of: str, cause: str, family: str | None = BY_ITS_RULE, weaker: tuple[str, ...] = ()
) -> Callable[[Make], Make]:
    """Register runs of that family with this cause."""
    return _adds(of, cause, family, weaker, is_near_miss=False)


def near_miss(
    of: str, cause: str, family: str | None = BY_ITS_RULE, weaker: tuple[str, ...] = ()
) -> Callable[[Make], Make]:
    """Register runs that resemble that family and have this true cause."""
    return _adds(of, cause, family, weaker, is_near_miss=True)


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


@cache
def side_of(cause: str) -> str:
    """Return the attribution of a cause: "job", "infrastructure" and so on."""
    return _rules().by_cause[cause].attribution.value


def is_crossed(true: str, found: str) -> bool:
    """Return whether job and machine are confused."""
    return {true, found} == {"job", "infrastructure"}


def _adds(
    of: str, cause: str, family: str | None, weaker: tuple[str, ...], *, is_near_miss: bool
) -> Callable[[Make], Make]:
    def add(make: Make) -> Make:
        found = family_of(cause) if family == BY_ITS_RULE else family
        CASES.append(Case(make, of, cause, found, is_near_miss, weaker))
        return make

    return add
