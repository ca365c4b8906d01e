"""Selection of the root cause among the candidates, by two ordered lists of named rules.

The filters of :mod:`gpualert_common.classify.filters` reject candidates that did not end the run,
or are not the root.  The most important of the rest leads, unless one of
:mod:`gpualert_common.classify.preferences` chooses another one, or leaves the cause to the exit
status.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.classify.candidates import Candidate
from gpualert_common.classify.filters import POSSIBLE, ROOTS, Filter, SelectionContext
from gpualert_common.classify.preferences import MOST_IMPORTANT, PREFERENCES, Preference
from gpualert_common.structs import Struct, field


class RuleApplication(Struct, frozen=True):
    """An application of a rule that changed something."""

    rule: Filter | Preference
    rejected: tuple[Candidate, ...] = ()
    leading: Candidate | None = None


class Selection(Struct):
    """The chosen candidate, None where the exit status decides, and each step to it.

    ``possible`` are the candidates that can have ended the run, whatever its status says.
    """

    possible: Sequence[Candidate] = ()
    chosen: Candidate | None = None
    steps: list[RuleApplication] = field(default_factory=list)

    def find_rejections(self) -> dict[int, RuleApplication]:
        """Return the last step that rejected each candidate, by its ``id()``."""
        return {id(one): step for step in self.steps for one in step.rejected}

    def replace_chosen(self, rule: Preference, candidate: Candidate) -> None:
        """Choose *candidate* by *rule* in place of the one chosen so far."""
        before = () if self.chosen is None else (self.chosen,)
        self.steps.append(RuleApplication(rule, before, candidate))
        self.chosen = candidate


def select(candidates: Sequence[Candidate], context: SelectionContext) -> Selection:
    """Return the root cause among *candidates*, as far as log and status show it."""
    selection = Selection()
    selection.possible = _filter(candidates, context, POSSIBLE, selection.steps)
    left = _filter(selection.possible, context, ROOTS, selection.steps)
    best = min(left, key=_rank, default=None)
    if best is None:
        return selection
    selection.steps.append(RuleApplication(MOST_IMPORTANT, leading=best))
    for rule in PREFERENCES:
        chosen = rule.choose(best, left, context)
        if chosen is not best:
            selection.steps.append(RuleApplication(rule, (best,), chosen))
        if chosen is None:
            return selection
        best = chosen
    selection.chosen = best
    return selection


def _filter(
    candidates: Sequence[Candidate],
    context: SelectionContext,
    filters: Sequence[Filter],
    steps: list[RuleApplication],
) -> Sequence[Candidate]:
    left = candidates
    for rule in filters:
        if not rule.applies(context.status):
            continue
        kept = rule.keep(left, context)
        kept_ids = set(map(id, kept))
        rejected = tuple(one for one in left if id(one) not in kept_ids)
        if rejected:
            steps.append(RuleApplication(rule, rejected))
        left = kept
    return left


def _rank(one: Candidate) -> tuple[int, bool, int]:
    """The most important first, then the earlier; a traceback without its exception last."""
    return one.tier, one.is_cut_off, one.place.offset
