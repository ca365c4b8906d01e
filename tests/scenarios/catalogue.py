"""Every scenario of every family and its near misses, each with what is true of it."""

from __future__ import annotations

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
    """Runs of one kind: ``of`` is the family that they belong to, or nearly miss.

    ``cause`` is the true one, unless a scene says otherwise of itself, and ``family`` what has to
    be told of it.  ``weaker`` are causes that may be told where the signs of it are weak: less is
    said than is true, and nothing wrong.
    """

    make: Make
    of: str
    cause: str
    family: str | None
    is_near_miss: bool = False
    weaker: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """That of the function which makes it."""
        return self.make.__name__

    def family_of(self, scene: Scene) -> str | None:
        """The family that has to be told of one of its variants."""
        return self.family if scene.cause == self.cause else family_of(scene.cause)

    def variant(self, number: int, *, missing: bool = False) -> Scene:
        """One of its variants, always the same one; with *missing* not everything could be seen."""
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
    """Runs of that family, of which this is the cause."""
    return _adds(of, cause, family, weaker, is_near_miss=False)


def near_miss(
    of: str, cause: str, family: str | None = BY_ITS_RULE, weaker: tuple[str, ...] = ()
) -> Callable[[Make], Make]:
    """Runs that look like that family, and whose true cause is this."""
    return _adds(of, cause, family, weaker, is_near_miss=True)


def by_family() -> Iterator[tuple[str, list[Case], list[Case]]]:
    """Each family with its scenarios and its near misses."""
    for family in sorted({case.of for case in CASES}):
        of_it = [case for case in CASES if case.of == family]
        missed = [case for case in of_it if case.is_near_miss]
        yield family, [case for case in of_it if not case.is_near_miss], missed


_rules = cache(load_rules)


@cache
def family_of(cause: str) -> str | None:
    """The family that the rule of a cause names."""
    return _rules().by_cause[cause].family


@cache
def side_of(cause: str) -> str:
    """Whose fault a cause is: "job", "infrastructure" and so on."""
    return _rules().by_cause[cause].attribution.value


def is_crossed(true: str, told: str) -> bool:
    """True where the job and its machine are taken for one another."""
    return {true, told} == {"job", "infrastructure"}


def _adds(
    of: str, cause: str, family: str | None, weaker: tuple[str, ...], *, is_near_miss: bool
) -> Callable[[Make], Make]:
    def add(make: Make) -> Make:
        told = family_of(cause) if family == BY_ITS_RULE else family
        CASES.append(Case(make, of, cause, told, is_near_miss, weaker))
        return make

    return add
