"""Failures that the exit status 0 hides: a log that ends in one all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from gpualert_common.causes import LASTING_STATES, SIGNAL_CAUSES
from gpualert_common.classify.candidates import Candidate, Tier
from gpualert_common.classify.chain_root import Basis
from gpualert_common.classify.handled.handled_failures import (
    has_ended_training,
    has_reached_end,
    is_after_result,
    is_after_training,
    is_started_again,
    is_work_done,
)
from gpualert_common.classify.handled.nearby_lines import lines_around
from gpualert_common.classify.log_position import has_trained, is_last_word
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

_LASTING_REPORTS = 3
"""A state that is reported this often, up to the end, is not a passing one."""


def ends_in_failure(candidates: Sequence[Candidate], readings: Sequence[LogReading]) -> bool:
    """Return whether a log ends in a failure although the exit status is 0.

    Examples are a failure of the first command of a pipe, a script that goes on after a kill, and
    losses that are NaN to the end.  Of several logs the end of one says nothing: the others may go
    on.
    """
    lasting = [one for one in candidates if one.cause in LASTING_STATES]
    if _is_persistent(lasting) or any(
        one.tier is Tier.CONFIRMED and one.is_last_word for one in lasting
    ):
        return True
    if sum(reading.size > 0 for reading in readings) > 1:
        return False
    for reading in readings:
        reports = [one for one in reading.observations if "child_exitcode" in one.details]
        if any(is_last_word(reading, one.place) for one in reports):
            return True
    logs = {reading.file: reading for reading in readings}
    return any(_is_end_of_run(one, logs[one.file]) for one in candidates)


def _is_persistent(lasting: Sequence[Candidate]) -> bool:
    """Return whether one process reported a state again and again; ranks may repeat one report."""
    streams = Counter(one.stream for one in lasting)
    texts = {one.excerpt for one in lasting}
    often = len(lasting) >= _LASTING_REPORTS and len(texts) > 1
    return often or max(streams.values(), default=0) >= _LASTING_REPORTS


def _is_end_of_run(one: Candidate, reading: LogReading) -> bool:
    """Return whether a log ends with it, or a shell reports the end of the training by it.

    An exception needs its traceback: a bare line may be part of any text.  It did not end the run
    if the work was done in spite of it.
    """
    with_traceback = one.head is not None and one.head.context is not Context.BARE
    is_signal = one.cause in SIGNAL_CAUSES
    if with_traceback and (one.is_last_word or has_ended_training(one, reading)):
        return not is_work_done(one, reading)
    if is_signal and (_is_of_helper(one, reading) or is_started_again(one, reading)):
        return False
    if one.is_last_word and is_signal:
        return True
    if one.is_last_word and _is_notice_obeyed(one):
        return not has_reached_end(one, reading)
    if one.is_last_word and _NEVER_BEGAN.search(one.excerpt):
        return not (has_trained(reading) or is_after_result(one, reading))
    if one.is_last_word and _OF_SLURM.search(one.excerpt):
        return not (is_after_result(one, reading) or has_reached_end(one, reading))
    if is_signal and one.excerpt.startswith("Fatal Python error: "):
        return _is_last_of_interpreter(one, reading) and not is_after_result(one, reading)
    return is_signal and _END_OF_PYTHON.search(one.excerpt) is not None


def _is_last_of_interpreter(one: Candidate, reading: LogReading) -> bool:
    """Return whether next to nothing but the stacks of its threads follows a crash."""
    _, after = lines_around(one, reading)
    return sum(not _STACKS.search(line) for line in after) <= 1


def _is_of_helper(one: Candidate, reading: LogReading) -> bool:
    """Return whether a signal ended something else than the training, which had ended before."""
    if is_after_training(one, reading):
        return True
    command = _OF_SHELL.search(one.excerpt)
    is_other = command is not None and _END_OF_PYTHON.search(one.excerpt) is None
    return is_other and has_reached_end(one, reading)


def _is_notice_obeyed(one: Candidate) -> bool:
    """Return whether the program says that it stops on a scheduler's word.

    Its own budget is no such word, and the records of a scheduler may be about earlier attempts.
    """
    if one.traceback is not None or one.basis is Basis.CONFIRMATION:
        return False
    is_signalled = one.cause == "time_limit" and "got_signal" in one.observations[0].details
    return one.cause == "preempted" or is_signalled
