"""A run that should resume from a checkpoint: it started over, or failed to load it.

It started over if its first steps are those of a new training.  That counts only for a run that
should resume.  Such a command names a checkpoint of a certain step, or one that existed before the
launch; or the command has an option to resume, or the scheduler restarted the run, and its output
already held checkpoints.  Some cases are only warnings: scripts name a checkpoint also in a first
run, when there is none yet; they load weights of another training to start from, or to evaluate
them; and a run that resumes may count only its own steps.

It failed to load the checkpoint if the frames or the message of the exception show that it was
resuming, or if the command or the scheduler shows it and the weights were not those of a base
model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from posixpath import basename
from typing import Any

from gpualert_common.classify.resume_lines import is_loading_base_model
from gpualert_common.command_options import is_evaluation, parse_options, split_command
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.model import Claim, LogLocation
from gpualert_common.progress import Progress, Start, determine_start
from gpualert_common.structs import Struct

FAMILY = "E2"
_ASKS = frozenset(
    (
        *("resume", "resuming", "autoresume", "continue", "from", "checkpoint", "checkpoints"),
        *("ckpt", "path", "file", "dir", "folder", "train", "training", "trainer", "auto", "state"),
        *("epoch", "step", "iter", "latest", "last", "to", "if", "possible", "exists"),
    )
)
"""Words in the names of options to resume; a name with other words is another option."""
_RESUME = {"resume", "resuming", "autoresume", "continue"}
_LOADS = {"load", "load_checkpoint", "load_ckpt", "load_from_checkpoint", "ckpt_path"}
"""Options to resume in these frameworks; in other frameworks they may name a base model."""
_LOADS_IN = {"megatron": "load", "lightning": "ckpt_path"}
_RESTORES = "restore"
_NO = ("false", "no", "none", "never", "0", "off", "null")
_NO_PATH = ("", "true", "auto", "last", "latest", "best", "1", "yes", "on", "allow", "must", "hpc")
_NEW = re.compile(
    r"(?i)fine_?-?tun|pretrained|\bsft\b|transfer|warm_?-?start|weights_?-?only|model_?-?only"
    r"|reset_?-?opt|overwrite|from_?-?scratch"
)
"""Words of a new training that starts from the weights of another one."""
_NO_CHECKPOINT = re.compile(r"(?i)\.(?:py|sh|ya?ml|json[lc]?|toml|cfg|conf|ini|gin|csv)$")
"""Arguments of the program that may follow an option without a value."""
_OF_A_STEP = re.compile(r"(?i)(?:step|iter|epoch|checkpoint|ckpt)\w*?[-_=/]?\d+(?!.*/)")


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield whether a run that should resume did so, and whether it failed to."""
    progress = evidence.progress
    if evidence.has_failed:
        yield from _diagnose_failed_load(evidence)
    elif evidence.is_completed and progress is not None and progress.segments:
        yield from _diagnose_start(evidence, progress)


def _diagnose_failed_load(evidence: Evidence) -> Iterator[Finding]:
    resolution = evidence.resolution
    if resolution.cause != "checkpoint":
        return
    asked, restarts = _find_resume_option(evidence.command), _count_restarts(evidence)
    why = Claim("it was loading the checkpoint to resume from", "log")
    if not resolution.is_resuming:
        if resolution.traceback is not None and is_loading_base_model(resolution.traceback):
            return
        if asked is not None and asked.may_name(resolution.details.get("path")):
            why = Claim(f"the command has an option to resume: {asked}", "command")
        elif restarts:
            why = Claim(f"it was restart {restarts}", "environment")
        else:
            return
    yield Finding(
        FAMILY,
        Weight.SUPPORTS,
        why.claim,
        cause="checkpoint",
        confidence=0.9,
        claims=(why,),
        details={"purpose": "to go on"},
    )


class _ResumeRequest(Struct, frozen=True):
    """The reason why a run should resume, its source, and the checkpoint.

    ``is_sure`` is True if the reason has no other explanation.
    """

    why: str
    source: str
    checkpoint: str
    is_sure: bool


def _diagnose_start(evidence: Evidence, progress: Progress) -> Iterator[Finding]:
    beginning = determine_start(progress)
    wanted = _find_request(evidence, progress)
    if wanted is None or beginning.start is Start.UNKNOWN:
        return
    if beginning.start is Start.RESUMED:
        yield Finding(FAMILY, Weight.RULED_OUT, beginning.because[0])
        return
    denied = [marker for marker in progress.markers if marker.says is Start.FRESH]
    reported = [marker for marker in progress.markers if marker.says is Start.RESUMED]
    sure = wanted.is_sure and (bool(denied) or not reported) and _trains(progress)
    segment = progress.segments[0]
    where = LogLocation(segment.file, segment.line, segment.offset)
    claims = [Claim(wanted.why, wanted.source), Claim(beginning.because[0], "progress", where)]
    claims += [
        Claim(marker.text, "log", LogLocation(marker.file, marker.line, marker.offset))
        for marker in denied[:1]
    ]
    yield Finding(
        FAMILY,
        Weight.DECIDES if sure else Weight.WARNS,
        f"{wanted.why}, and {beginning.because[0]}",
        cause="resume_from_scratch" if sure else "",
        confidence=0.93 if denied else 0.88,
        over=frozenset(("none",)),
        kind="began_anew",
        claims=tuple(claims),
        details={"checkpoint": wanted.checkpoint, "first_step": _first(progress)},
    )


def _find_request(evidence: Evidence, progress: Progress) -> _ResumeRequest | None:
    """Return the checkpoint it should resume from; None if it may be a first run."""
    found = evidence.get_facts("checkpoints")
    named: Mapping[str, bool] = found.get("named", {})
    before: Sequence[Mapping[str, Any]] = found.get("before", ())
    left = str(before[0].get("path")) if before else ""
    if is_evaluation(evidence.command):
        return None
    words = split_command(evidence.command)
    asked, restarts = _find_resume_option(evidence.command), _count_restarts(evidence)
    anew = _is_begun_anew(words, "" if asked is None else asked.path)
    if asked is not None and asked.path and "://" not in asked.path:
        sure = _is_of_training(asked.path, named) and not anew
        return _ResumeRequest(
            f"the command has an option to resume: {asked}", "command", asked.path, sure
        )
    if left and (asked is not None or restarts):
        by_command = f"the command has an option to resume: {asked}"
        why = by_command if asked is not None else f"it was restart {restarts}"
        source = "command" if asked is not None else "environment"
        return _ResumeRequest(f"{why}, and {left} was there", source, left, is_sure=not anew)
    if restarts:
        return _ResumeRequest(
            f"it was restart {restarts}", "environment", "a run before it", is_sure=False
        )
    if any(_NEW.search(basename(word)) for word in words):
        return None
    return _find_loading_option(evidence, progress, named)


def _is_begun_anew(words: Sequence[str], path: str) -> bool:
    """Return whether an option, or the name of the weights, means a new training.

    The names of script and output do not count: a fine-tuning can also resume.
    """
    if "pretrained" in path.lower():
        return True
    given = (word.partition("=") for word in words)
    return any(
        _NEW.search(name) if name.startswith("-") else _NEW.fullmatch(value or name)
        for name, _, value in given
    )


def _find_loading_option(
    evidence: Evidence, progress: Progress, named: Mapping[str, bool]
) -> _ResumeRequest | None:
    """Return the checkpoint of an option that loads one, to resume or to start from."""
    options = parse_options(evidence.command)
    loads = [(name, path) for name, path in options if _may_load(name) and not _is_word(path)]
    for name, path in loads[:1]:
        of_framework = _LOADS_IN.get(progress.framework or "") == name
        sure = of_framework and _is_of_training(path, named)
        if sure or named.get(path):
            return _ResumeRequest(f"the command names {path}", "command", path, sure)
    return None


class _ResumeOption(Struct, frozen=True):
    """An option to resume; ``path`` is "" if it does not name the checkpoint."""

    option: str
    path: str

    def __str__(self) -> str:
        return f"{self.option} {self.path}".strip()

    def may_name(self, file: object) -> bool:
        """Return False if the file is known and is another one."""
        if not isinstance(file, str) or not file or not self.path:
            return True
        return self.path.rstrip("/") in file or file.rstrip("/") in self.path


def _find_resume_option(command: Sequence[str]) -> _ResumeOption | None:
    """Return the option of the command to resume, if there is one."""
    for name, value in parse_options(command):
        words = set(name.split("_"))
        asks = words & _RESUME and words <= _ASKS and value.lower() not in _NO
        if asks or (name == "init_from" and value == "resume"):
            is_none = _is_word(value) or value == "resume" or _NO_CHECKPOINT.search(value)
            return _ResumeOption(name, "" if is_none else value)
    return None


def _may_load(name: str) -> bool:
    return name in _LOADS or _RESTORES in name.split("_")


def _is_word(value: str) -> bool:
    return value.lower() in (*_NO, *_NO_PATH)


def _is_of_training(path: str, named: Mapping[str, bool]) -> bool:
    """Return whether a checkpoint existed before the launch, or is that of a certain step."""
    return named.get(path, False) or _OF_A_STEP.search(path) is not None


def _trains(progress: Progress) -> bool:
    """Return whether a known framework reports steps, or any program a loss."""
    return progress.framework != "generic" or any(one.loss is not None for one in progress.points)


def _count_restarts(evidence: Evidence) -> int:
    """Return how often the scheduler had started the run before."""
    given = str(evidence.environment.get("SLURM_RESTART_COUNT", ""))
    return int(given) if given.isdecimal() and len(given) < 6 else 0


def _first(progress: Progress) -> float | int | str:
    segment = progress.segments[0]
    if segment.first_step is not None:
        return segment.first_step
    return "unknown" if segment.first_epoch is None else segment.first_epoch
