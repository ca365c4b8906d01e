"""The exception of a chain that carries the cause, by an ordered list of named rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from gpualert_common.causes import GENERIC_CAUSES, MISMATCH_CAUSES, RESOURCE_CAUSES
from gpualert_common.classify.compiled_rules import compile_rules
from gpualert_common.classify.observations import Observation
from gpualert_common.classify.rules import RuleSet
from gpualert_common.classify.tracebacks.exception_names import is_report
from gpualert_common.classify.tracebacks.traceback import ChainLink, Context, Traceback
from gpualert_common.model import Role
from gpualert_common.structs import Struct


class Basis(IntEnum):
    """The part of the log that a cause is read from, the most reliable last."""

    TOPIC = 0
    LAST_WORDS = 1
    CLOSING_LINE = 2
    LINE = 3
    WORDING = 4
    PLACE = 5
    TYPE = 6
    MESSAGE = 7
    CONFIRMATION = 8


class ChainMember(Struct, frozen=True):
    """An exception of a chain, the observations in its text, and the cause it has by itself."""

    exception: Traceback
    observations: tuple[Observation, ...]
    cause: str
    basis: Basis

    @property
    def is_specific(self) -> bool:
        """True when the cause says more than that the program failed."""
        return self.cause not in GENERIC_CAUSES

    @property
    def is_consequence(self) -> bool:
        """True when the message says that it followed from another failure."""
        return bool(self.observations) and self.observations[0].role is Role.CASCADE

    @property
    def names_cause(self) -> bool:
        """True when the message itself names a specific cause."""
        return self.is_specific and self.basis >= Basis.MESSAGE


Chain = Sequence[ChainMember]


def read_chain(head: Traceback, rules: RuleSet) -> list[ChainMember]:
    """Return the members of the chain that ends in *head*, the first exception first."""
    members = []
    for exception in head.chain():
        observations = _by_rule_order(exception.observations)
        cause, basis = _find_cause(exception, observations, rules)
        members.append(ChainMember(exception, observations, cause, basis))
    return members


def find_root(chain: Chain) -> tuple[ChainMember, str]:
    """Return the exception of *chain* that carries the cause, and the name of the rule that says
    so."""
    for name, rule in CHAIN_RULES:
        root = rule(chain)
        if root is not None:
            return root, name
    return chain[-1], "last exception"


def _exhausted_resource(chain: Chain) -> ChainMember | None:
    """A resource that ran out is the root of all that was raised on top of it."""
    return next((one for one in chain if one.names_cause and one.cause in RESOURCE_CAUSES), None)


def _loaded_checkpoint(chain: Chain) -> ChainMember | None:
    """A mismatch while a checkpoint is loaded is a fault of the checkpoint."""
    if chain[-1].cause not in {*MISMATCH_CAUSES, "checkpoint"}:
        return None
    return next((one for one in chain if one.names_cause and one.cause == "checkpoint"), None)


def _message(chain: Chain) -> ChainMember | None:
    """The first message of the last part that names a cause."""
    return _first_of_last_part(chain, lambda one: one.names_cause)


def _type_or_place(chain: Chain) -> ChainMember | None:
    """The first exception of the last part whose type or place names a cause."""
    return _first_of_last_part(chain, lambda one: one.is_specific)


def _direct_cause(chain: Chain) -> ChainMember | None:
    """The first exception, where it was made the direct cause of the rest."""
    return chain[0] if chain[-1].exception.link is ChainLink.CAUSE else None


CHAIN_RULES: tuple[tuple[str, Callable[[Chain], ChainMember | None]], ...] = (
    ("exhausted resource", _exhausted_resource),
    ("checkpoint being loaded", _loaded_checkpoint),
    ("message of the last part", _message),
    ("type or place of the last part", _type_or_place),
    ("direct cause", _direct_cause),
)
"""The first rule that finds a root decides; without one the last exception of the chain is it."""


def _first_of_last_part(chain: Chain, fits: Callable[[ChainMember], bool]) -> ChainMember | None:
    """Return the first exception that fits, of the last part of *chain* that has one.

    A part is an exception with those that were raised from it on purpose.  The next part was raised
    while this one was handled: often a look-up that fails first and is then done without.
    """
    parts: list[list[ChainMember]] = []
    for one in chain:
        if not parts or one.exception.link is not ChainLink.CAUSE:
            parts.append([])
        parts[-1].append(one)
    return next((one for part in reversed(parts) for one in part if fits(one)), None)


def _by_rule_order(found: Sequence[Observation]) -> tuple[Observation, ...]:
    """Return the observations that can name a cause, in the order of their rules."""
    naming = [one for one in found if one.role not in (Role.BENIGN, Role.REPORT)]
    return tuple(sorted(naming, key=lambda one: one.pattern.order))


def _find_cause(
    exception: Traceback, observations: tuple[Observation, ...], rules: RuleSet
) -> tuple[str, Basis]:
    """Return the cause of one exception: by its message, its place, its wording, or its type."""
    if observations:
        first = observations[0]
        confirmed = first.role is Role.CONFIRMATION
        return first.cause, Basis.CONFIRMATION if confirmed else Basis.MESSAGE
    name = None if exception.context is Context.CUT_OFF else exception.name
    compiled = compile_rules(rules)
    cause = compiled.find_cause_by_place(name, exception.places, exception.source)
    if cause is not None:
        return cause, Basis.PLACE
    wordings = compiled.match_message(exception.message, name)
    if wordings:
        return wordings[0].pattern.cause, Basis.WORDING
    for type_name in (exception.type, exception.name):
        for rule in rules:
            if type_name in rule.exceptions:
                return rule.id, Basis.TYPE
    is_other = exception.context is Context.NATIVE or is_report(exception.type)
    return ("runtime_error" if is_other else "traceback"), Basis.TYPE
