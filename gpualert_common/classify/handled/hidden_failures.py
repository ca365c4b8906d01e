"""Failures that the exit status 0 hides: a log that ends in one all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from gpualert_common.causes import ANNOUNCED_CAUSES, LASTING_STATES, SIGNAL_CAUSES
from gpualert_common.classify.candidates import Candidate, Tier
from gpualert_common.classify.chain_root import Basis
from gpualert_common.classify.handled.handled_failures import is_work_done
from gpualert_common.classify.handled.item_summaries import is_mostly_successful
from gpualert_common.classify.handled.surroundings import Surroundings
from gpualert_common.classify.handled.work_lines import (
    has_count,
    has_match,
    has_outcome,
    has_work,
    is_continued,
)
from gpualert_common.classify.handled.work_words import (
    ANSWER,
    HANDLED,
    SUCCESS,
    WARNING,
)
from gpualert_common.classify.log_position import has_finite_losses, has_trained, is_info_record
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.tracebacks.traceback import Context
from gpualert_common.regex import compile_bytes, compile_text

_END_OF_PYTHON: Final = compile_text(
    r"(?:Killed|fault|Aborted).*\b(?:python|torchrun|accelerate|deepspeed)"
)
"""A shell's report of the end of a training, as opposed to that of a helper process."""

_STACKS: Final = compile_bytes(
    rb"^(?:Current thread|Thread) 0x|^Stack \(most recent|^  File |^Extension modules: |core dumped"
)
"""A line of faulthandler, or of the shell behind it."""

_NEVER_BEGAN: Final = compile_text(
    r"^python[\d.]*: can't open file |^[\w./-]+\.py: error: "
    r"|\b(?:python[\d.]*|torchrun|accelerate|deepspeed|mpirun|srun): (?:command )?not found"
)
"""A report of a shell, the interpreter or the program's parser that nothing was started."""

_OF_SLURM: Final = compile_text(r"^srun: error: \S+: tasks? [\d,-]+: Out Of Memory")
"""A report of srun on its own tasks; that of an event names no task, and may be of a helper."""

_OF_SHELL: Final = compile_text(
    r": line \d+: \s*\d+ [A-Z][\w ()]*\s{2,}\S|^\[\d+\][+-]?\s+[A-Z]\w+\s"
)
"""A shell's report of the end of a command, which it names."""

_ANSWERS: Final = (HANDLED, ANSWER, WARNING)
"""Words next to a failure by which the program goes on."""

_OF_TOOL: Final = compile_bytes(rb"^(?:/\S+/)?[a-z][\w.+-]{0,15}: ")
"""The error message of a tool that a script calls, such as ls; the script may go on after it."""

_END_OF_FIT: Final = compile_bytes(rb"`?Trainer\.fit`? stopped: ")
"""Lightning's report of why a training ended, which is no failure."""

_LASTING_REPORTS = 3
"""A state that is reported this often, up to the end, is not a passing one."""


def ends_in_failure(candidates: Sequence[Candidate], readings: Sequence[LogReading]) -> bool:
    """Return whether a log ends in a failure although the exit status is 0.

    Examples are a failure of the first command of a pipe, a script that goes on after a kill, and
    losses that are NaN to the end.  Of several logs the end of one says nothing: the others may go
    on.
    """
    logs = {reading.file: reading for reading in readings}
    lasting = [one for one in candidates if one.cause in LASTING_STATES]
    if _is_persistent(lasting) or any(
        one.tier is Tier.CONFIRMED and one.is_last_word for one in lasting
    ):
        return not _is_recovered(lasting, logs)
    if sum(reading.size > 0 for reading in readings) > 1:
        return False
    return any(_is_end_of_run(one, logs[one.file]) for one in candidates)


def _is_persistent(lasting: Sequence[Candidate]) -> bool:
    """Return whether one process reported a state again and again; ranks may repeat one report."""
    streams = Counter(one.stream for one in lasting)
    texts = {one.excerpt for one in lasting}
    often = len(lasting) >= _LASTING_REPORTS and len(texts) > 1
    return often or max(streams.values(), default=0) >= _LASTING_REPORTS


def _is_recovered(lasting: Sequence[Candidate], logs: Mapping[str, LogReading]) -> bool:
    """Return whether a loss was finite behind the last reports of a state, or between them."""
    last = sorted(lasting, key=lambda one: one.place.offset)[-_LASTING_REPORTS:]
    counts = ((last[-1], 1), (last[0], 2))
    return any(has_finite_losses(logs[one.file], one.place.offset, n) for one, n in counts)


def _is_end_of_run(one: Candidate, reading: LogReading) -> bool:
    """Return whether an exception, a signal or a line that names a cause ended the work."""
    if one.head is not None and one.head.context is not Context.BARE:
        return not is_work_done(one, one.head, reading)
    if one.cause in SIGNAL_CAUSES:
        return _is_end_by_signal(one, Surroundings(one, reading))
    if not one.is_last_word:
        return False
    around = Surroundings(one, reading)
    if _is_notice_obeyed(one):
        return not around.has_reached_end
    if _NEVER_BEGAN.search(one.excerpt):
        return not (has_trained(reading) or around.has_result)
    if _OF_SLURM.search(one.excerpt):
        return not (around.has_result or around.has_reached_end)
    return is_unanswered(one, reading)


def is_unanswered(one: Candidate, reading: LogReading) -> bool:
    """Return whether a line near the end names a failure, in a log that shows no work at all.

    The failure is answered if the line is a warning, if a retry or an alternative is announced next
    to it, or if lines about the work of the program follow.  The error of a tool is also answered
    by any other line after it.
    """
    if one.tier in (Tier.CONFIRMED, Tier.CASCADE) or not one.is_last_word:
        return False
    if one.cause in SIGNAL_CAUSES | ANNOUNCED_CAUSES | LASTING_STATES:
        return False
    around = Surroundings(one, reading)
    near = (*around.header, around.line, *around.after[:1])
    if is_info_record(around.line) or any(has_match(words, near) for words in _ANSWERS):
        return False
    if _END_OF_FIT.search(around.line) or (around.good and _OF_TOOL.search(around.line)):
        return False
    if any(map(is_mostly_successful, around.own)) or is_continued(around.before, around.own):
        return False
    if has_work(around.good) or has_outcome(around.good) or has_count(around.good):
        return False
    before = around.good_before
    return not (around.has_worked or has_work(before) or has_outcome(before))


# -- signals ---------------------------------------------------------------------------------


def _is_end_by_signal(one: Candidate, around: Surroundings) -> bool:
    """Return whether a signal ended the training, rather than a helper."""
    if _is_of_helper(one, around):
        return False
    if one.is_last_word:
        return not has_match(SUCCESS, around.good)
    if one.excerpt.startswith("Fatal Python error: "):
        return _is_last_of_interpreter(around) and not around.has_result
    return _END_OF_PYTHON.search(one.excerpt) is not None


def _is_of_helper(one: Candidate, around: Surroundings) -> bool:
    """Return whether a signal ended something else than the training, which had ended before."""
    if around.is_after_training:
        return True
    command = _OF_SHELL.search(one.excerpt)
    is_other = command is not None and _END_OF_PYTHON.search(one.excerpt) is None
    return is_other and around.has_reached_end


def _is_last_of_interpreter(around: Surroundings) -> bool:
    """Return whether next to nothing but the stacks of its threads follows a crash."""
    return sum(not _STACKS.search(line) for line in around.after) <= 1


def _is_notice_obeyed(one: Candidate) -> bool:
    """Return whether the program says that it stops on a scheduler's word.

    Its own budget is no such word, and the records of a scheduler may be about earlier attempts.
    """
    if one.traceback is not None or one.basis is Basis.CONFIRMATION:
        return False
    is_signalled = one.cause == "time_limit" and "got_signal" in one.observations[0].details
    return one.cause == "preempted" or is_signalled
