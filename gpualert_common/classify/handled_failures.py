"""Failures that a program handled: it continued after them, and its work was done.

A program that ends well has handled each exception in its log.  One that ended in an exception, and
whose exit status a pipe or a script hid, has not.  The log distinguishes them: by the frame where
the exception was caught, by the words around it, and by the work that was done before and after it.
"""

from __future__ import annotations

from typing import Final

from gpualert_common.classify.candidates import Candidate
from gpualert_common.classify.lines import canonicalize
from gpualert_common.classify.log_position import (
    has_trained,
    is_followed_by_steps,
    is_info_record,
)
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.traceback_model import Context, Traceback
from gpualert_common.regex import compile_bytes, compile_text

_NEIGHBOUR_LINES = 2
"""Lines next to a failure that may say how the program handles it."""

_SCRIPT_LINES = 40
"""Lines that a script may write after a training that it started."""

_RECENT_LINES = 400
"""Lines before a failure that show how far the work was."""

_TRAINING_DONE: Final = compile_bytes(
    rb"(?i)\b(?:training|fine-?tuning|pre-?training|fitting|optimi[sz]ation|experiment)\b"
    rb"(?: \w+){0,2}? (?:is |was |has )?(?:now )?"
    rb"(?:done|completed?|finished|over|ended success\w*)\b"
    rb"|\b(?:finished|completed|done with|end of) (?:the )?(?:training|fine-?tuning|fitting)\b"
    rb"|`?Trainer\.fit`? stopped: `?max_"
    rb"|\ball (?:epochs|steps|folds|stages) (?:done|completed?|finished)"
)
"""Words of a program about the end of its training."""

_RESULT: Final = compile_bytes(
    rb"(?i)\b(?:saved|wrote|written|exported|saving)\b.{0,80}"
    rb"(?:model|checkpoint|ckpt|weights|adapter|state_dict|\.pth?\b|\.safetensors|\.onnx|\.keras|\.h5)"
    rb"|(?:model|checkpoint|weights|adapter)\b.{0,60}\b(?:saved|written|exported)\b"
    rb"|['\"]train_runtime['\"]|\*{5} (?:train|eval|test|predict) metrics \*{5}"
    rb"|Test metric +DataLoader"
    rb"|\b(?:final|best|test|eval|evaluation|validation|val)[ _-](?:\w+[ _-]){0,2}"
    rb"(?:loss|acc(?:uracy)?|f1|auc|bleu|wer|perplexity|ppl|mse|rmse|mae|map|miou|score|reward|return)"
    rb"\b\D{0,12}\d"
)
"""A result of a training: a saved model, or a final score."""

_STEP: Final = compile_bytes(
    rb"(?i)\b(?:global_?)?(?:step|iter|iteration|epoch|batch|update|ep)s?\b[ :=#\[(]{0,3}\d{1,12}"
    rb"[^\r\n]{0,200}?\d\.\d|['\"](?:loss|eval_loss)['\"]: ['\"]?\d"
)
"""A step with its result."""

_SCORE: Final = compile_bytes(
    rb"(?i)\b(?:loss|acc(?:uracy)?|rmse|logloss|auc|mae|mse|reward)['\"]?\s?[:=]\s?['\"]?-?\d"
)
"""A score of any form, such as those of Keras and XGBoost, whose steps stand elsewhere."""

_OF: Final = compile_bytes(
    rb"(?i)\b(?:global_?)?(?:step|iter|iteration|epoch|batch|update|ep)s?\b[ :=#\[(]{0,3}"
    rb"(\d{1,9}) ?(?:/|of) ?(\d{1,9})|\b(\d{1,9})/(\d{1,9}) \[\d+:\d\d"
)
"""A step of a known number of steps."""

_END: Final = compile_bytes(
    rb"(?i)^\W*(?:all |run |job |script |program |experiment )?"
    rb"(?:done|finished|completed?|success\w*)\b"
)
"""Words about some end: of the program, or of the script around it."""

_SHELL: Final = compile_bytes(
    rb"^\+{1,4} |\b(?:exit(?:ed)?|return) (?:status|code)\b|\bEXIT_CODE\b"
)
"""A line of a shell, or about the exit status of a program."""

_TROUBLE: Final = compile_bytes(
    rb"(?i)fail|error|\babort|\bstopp?ed|interrupt|crash|\bdied\b|\bnan\b|last|resum|cancel"
)
"""A line about how far the training came when it failed, rather than about its result."""

_HANDLED: Final = compile_bytes(
    rb"(?i)\b(?:skipp(?:ed|ing)|ignor(?:ed|ing)|non-?fatal"
    rb"|continuing (?:with|without|anyway|training))\b"
)
"""Words of a program that does without what failed."""

_RETRIED: Final = compile_bytes(
    rb"(?i)\b(?:retrying|falling back|will (?:be )?retr(?:y|ied)|(?:try|trying) again"
    rb"|(?:attempt|retry|try) \d+ ?(?:/|of) ?\d+)\b"
)
"""Words of a program that tries again.  Where nothing helps, the failure is the root all the same.
"""

_WARNING: Final = compile_bytes(rb"\bWARN(?:ING)?\b|^\[?W\d{4} |^\[W ")
"""A record of a logger about a failure that its program can do without."""

_SIDE_PLACE: Final = compile_text(
    r"(?i)/(?:wandb|mlflow|huggingface_hub|comet_ml|neptune|clearml|trackio|aim|boto3|botocore|fsspec"
    r"|tensorboard\w*|google/cloud|azure|slack_sdk|paramiko)/|/(?:smtplib|ftplib|atexit|shutil|webbrowser)\.py:"
    r"|:_?(?:\w+_)?(?:upload|push|notify|publish|sync|cleanup|clean_up|teardown|shutdown|close|report|plot"
    r"|send|log|e?mail|archive|backup|copy)(?:_\w+)?$"
)
"""A place in a program outside the training: trackers, uploads, messages, cleaning up."""

_MODULE: Final = frozenset({"<module>", "_run_module_as_main", "_run_code", "run_path"})
"""Outermost frames of an exception that may have ended its process."""


def is_overcome(one: Candidate, reading: LogReading) -> bool:
    """Return whether the program caught or skipped a failure and trained at least one more step.

    What was skipped before the first step may well be the reason of a later failure.
    """
    if not is_followed_by_steps(reading, one.place.offset, 1):
        return False  # cheap, and true of most failures
    is_handled = one.head is not None and is_caught(one.head)
    if not (is_handled or is_marked_as_handled(one, reading)):
        return False
    _, after = _lines_around(one, reading)
    return any(map(_STEP.search, _good_lines(after)))


def is_marked_as_handled(one: Candidate, reading: LogReading) -> bool:
    """Return whether the program says there that it does without it: it skips, or only warns.

    A warning right before an exception that was not caught is about something else.
    """
    before, after = _lines_around(one, reading)
    header, text = before[-1:], []
    if one.head is None:
        header, text = [], [one.excerpt.encode()]
    elif is_caught(one.head) and any(map(_WARNING.search, header)):
        return True
    return any(map(_HANDLED.search, (*header, *text, *after[:_NEIGHBOUR_LINES])))


def is_work_done(one: Candidate, reading: LogReading) -> bool:
    """Return whether a run that ended well did its work in spite of an exception.

    It did if, after the exception, it saved a model, printed its scores, continued to train, or
    says itself that the training is done.  A training that was cut short has not done its work,
    whatever the script around it prints.
    """
    if one.head is None or one.head.context is Context.BARE:
        return False
    before, after = _lines_around(one, reading)
    after, good = _own_lines(after), _good_lines(after)
    if any(map(_STEP.search, good)):
        return True
    if is_cut_short(one, reading):
        return False
    trained = has_trained(reading) or any(map(_SCORE.search, before))
    if any(map(_RESULT.search, good)) or any(map(_SCORE.search, good)):
        return True
    if any(map(_TRAINING_DONE.search, after)):
        return trained or is_caught(one.head)
    if not trained:
        return False
    is_retried = any(map(_RETRIED.search, after[:_NEIGHBOUR_LINES]))
    is_outside = one.head.context is Context.THREAD or is_marked_as_handled(one, reading)
    if is_retried or is_outside or _is_outside_training(one.head, before):
        return True
    return is_caught(one.head) and any(map(_END.search, good))


def has_ended_training(one: Candidate, reading: LogReading) -> bool:
    """Return whether an exception ended a training before its last step.

    Only the script that started the training continued after it.
    """
    head = one.head
    if head is None or head.context is not Context.MAIN or head.outermost is None:
        return False
    if reading.lines - head.end.line > 2 * _SCRIPT_LINES:
        return False  # cheap; most of the rest may be blank
    if head.outermost.function not in _MODULE or not is_cut_short(one, reading):
        return False
    _, after = _lines_around(one, reading)
    return len(after) <= _SCRIPT_LINES and not any(map(is_info_record, after))


def is_cut_short(one: Candidate, reading: LogReading) -> bool:
    """Return whether the last step before a failure was not the last one of the training."""
    step = _last_step(one, reading)
    return step is not None and step[0] + 1 < step[1]


def has_reached_end(one: Candidate, reading: LogReading) -> bool:
    """Return whether the training had made its last step before *one*."""
    step = _last_step(one, reading)
    return step is not None and step[0] >= step[1]


def _last_step(one: Candidate, reading: LogReading) -> tuple[int, int] | None:
    """Return the last step before a failure and the number of steps, where the log has both."""
    before, _ = _lines_around(one, reading)
    for line in reversed(before[-_RECENT_LINES:]):
        steps = _OF.search(line)
        if steps is not None:
            done, planned = (int(number) for number in steps.groups() if number is not None)
            return done, planned
    return None


def is_caught(head: Traceback) -> bool:
    """Return whether the program certainly caught an exception: below the level of its module.

    A child process prints its exceptions from where it began.
    """
    if head.context is not Context.MAIN or head.outermost is None:
        return False
    return head.outermost.function not in _MODULE


def _is_outside_training(head: Traceback, before: list[bytes]) -> bool:
    """Return whether an exception came from outside the training, after its end."""
    if not any(map(_SIDE_PLACE.search, head.places)):
        return False
    for line in reversed(before):
        if _TRAINING_DONE.search(line) or _RESULT.search(line):
            return True
        if _STEP.search(line):
            return False
    return False


def _own_lines(lines: list[bytes]) -> list[bytes]:
    """Return *lines* without those of a shell that traces its commands, and their output."""
    return [
        line
        for previous, line in zip([b"", *lines], lines, strict=False)
        if not _SHELL.search(line) and not previous.startswith(b"+ echo")
    ]


def _good_lines(lines: list[bytes]) -> list[bytes]:
    """Return those of the program's own lines that are not about trouble."""
    return [line for line in _own_lines(lines) if not _TROUBLE.search(line)]


def _lines_around(one: Candidate, reading: LogReading) -> tuple[list[bytes], list[bytes]]:
    """Return the lines before and after a failure that are not blank, without escape sequences."""
    start, end = one.place.offset, one.place.offset
    rows = 1
    if one.head is not None:
        start, end = one.head.chain()[0].start.offset, one.head.end.offset
        rows = one.head.text.count("\n") + 1
    at = reading.tail_offset
    before = canonicalize(reading.tail[: max(0, start - at)]).split(b"\n")
    after = canonicalize(reading.tail[max(0, end - at) :]).split(b"\n")[rows:]
    return [line for line in before if line.strip()], [line for line in after if line.strip()]
