"""The evaluation: every log judged, and its scores as one object that JSON can hold.

Near-copies share the weight of one log in every figure.  The result names wrong ones only among
logs that rules may be tuned to: not of a frozen origin, and after their first contact.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from multiprocessing import get_context
from typing import Any, Final

from gpualert_common.corpus.baselines import BASELINES
from gpualert_common.corpus.entries import Entry, Provenance, read_entries
from gpualert_common.corpus.judged import Judged, judge, read_log
from gpualert_common.corpus.metrics import Answers, confusion
from gpualert_common.corpus.similarity import groups_of
from gpualert_common.errors import CorpusError

SCHEMA: Final = 1
RESULTS: Final = "results.json"
_DECIMALS = 4
_TINY = 1e-3
_WORTH_PROCESSES = 100
"""Fewer logs are judged before another process has read the rules."""
_PIECE = 16


class Split(StrEnum):
    """Which origins: all, those that rules may be tuned to, or the frozen ones."""

    ALL = "all"
    DEV = "dev"
    TEST = "test"

    def holds(self, entry: Entry) -> bool:
        """True when *entry* belongs to it."""
        return self is Split.ALL or entry.frozen == (self is Split.TEST)


@dataclass(frozen=True, slots=True)
class Sample:
    """A log with its entry and the number of its group of near-copies."""

    entry: Entry
    log: bytes
    group: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A sample and what was named for it."""

    sample: Sample
    judged: Judged

    @property
    def entry(self) -> Entry:
        """The entry that was judged."""
        return self.sample.entry


def read_samples(corpus: str | os.PathLike[str]) -> list[Sample]:
    """All logs of *corpus* with their groups.  Raises :class:`CorpusError`."""
    entries = read_entries(corpus)
    logs = [read_log(corpus, entry) for entry in entries]
    groups = groups_of(logs, [entry.cause for entry in entries])
    return [Sample(*one) for one in zip(entries, logs, groups, strict=True)]


def answer(
    samples: Sequence[Sample], change: Callable[[Sample], bytes] | None = None
) -> list[Answer]:
    """Each of *samples* judged, by its log as it is or as *change* makes it, on all cores."""
    work = partial(_judged, change)
    if len(samples) < _WORTH_PROCESSES:
        return [Answer(one, work(one)) for one in samples]
    with ProcessPoolExecutor(mp_context=get_context("forkserver")) as workers:
        judged = workers.map(work, samples, chunksize=_PIECE)
        return [Answer(*one) for one in zip(samples, judged, strict=True)]


def _judged(change: Callable[[Sample], bytes] | None, sample: Sample) -> Judged:
    return judge(sample.entry, sample.log if change is None else change(sample))


def results_of(
    samples: Sequence[Sample], contacted: Collection[str], split: Split = Split.ALL
) -> dict[str, Any]:
    """The evaluation of *split*; of all of them also each split apart.

    *contacted* are the ids of logs whose first contact is past: only of those is told which ones
    are wrong.  Raises :class:`CorpusError` for a split without logs.
    """
    answers = answer([one for one in samples if split.holds(one.entry)])
    if not answers:
        raise CorpusError(f"no log belongs to the split {split.value!r}")
    splits = tuple(Split) if split is Split.ALL else (split,)
    parts = {one.value: [a for a in answers if one.holds(a.entry)] for one in splits}
    found = {
        "schema": SCHEMA,
        "corpus": _facts(samples),
        "splits": {name: _scores(part) for name, part in parts.items() if part},
        "confusion": _confusion(answers),
        "wrong": [
            _told(one)
            for one in answers
            if not (one.judged.right or one.entry.frozen) and one.entry.id in contacted
        ],
    }
    result: dict[str, Any] = rounded(found)
    return result


def answers_of(answers: Sequence[Answer]) -> Answers:
    """Causes against labels."""
    return Answers(
        [one.entry.cause for one in answers],
        [one.judged.cause for one in answers],
        [one.sample.group for one in answers],
    )


def paper_answers(answers: Sequence[Answer], named: Sequence[str | None]) -> Answers:
    """The paper's classes *named* against its labels; *answers* must all have one."""
    return Answers(
        [str(one.entry.paper_class) for one in answers],
        named,
        [one.sample.group for one in answers],
    )


def with_paper_class(answers: Sequence[Answer]) -> list[Answer]:
    """Those of *answers* that the paper has a class for."""
    return [one for one in answers if one.entry.paper_class is not None]


def near_copies(samples: Sequence[Sample]) -> list[list[Sample]]:
    """The groups with more than one log, largest first."""
    groups: dict[int, list[Sample]] = {}
    for one in samples:
        groups.setdefault(one.group, []).append(one)
    found = [members for members in groups.values() if len(members) > 1]
    return sorted(found, key=lambda members: (-len(members), members[0].entry.id))


def _facts(samples: Sequence[Sample]) -> dict[str, Any]:
    entries = [one.entry for one in samples]
    groups = len({one.group for one in samples})
    origins = {one.origin for one in entries}
    return {
        "logs": len(samples),
        "groups": groups,
        "near_copies": 1 - groups / len(samples),
        "causes": len({one.cause for one in entries}),
        "origins": len(origins),
        "frozen_origins": len({one.origin for one in entries if one.frozen}),
        "provenance": {
            kind.value: sum(one.provenance is kind for one in entries) for kind in Provenance
        },
    }


def _scores(answers: Sequence[Answer]) -> dict[str, Any]:
    causes = answers_of(answers)
    curve, error = causes.calibration([one.judged.confidence for one in answers])
    return {
        "logs": len(answers),
        "groups": causes.group_count,
        "causes": {
            "macro_f1": asdict(causes.interval(causes.macro_f1)),
            "accuracy": asdict(causes.interval(causes.accuracy)),
            "per_cause": _per_label(causes, [one.entry.cause for one in answers]),
        },
        "paper": _paper_scores(with_paper_class(answers)),
        "provenance": _apart(answers, lambda entry: entry.provenance.value),
        "origins": _apart(answers, lambda entry: entry.origin),
        "calibration": {"bins": [asdict(one) for one in curve], "error": error},
        "false_alarms": _false_alarms(answers),
        "missed": _missed(answers),
    }


def _per_label(answers: Answers, labels: Sequence[str]) -> dict[str, Any]:
    return {
        name: {"logs": labels.count(name), **asdict(score)}
        for name, score in answers.per_label().items()
    }


def _paper_scores(answers: Sequence[Answer]) -> dict[str, Any] | None:
    if not answers:
        return None
    ours = paper_answers(answers, [one.judged.paper_class for one in answers])
    baselines = {}
    for name, classify in BASELINES.items():
        named = [classify(one.sample.log, one.entry.exit_code) for one in answers]
        theirs = paper_answers(answers, named)
        test = ours.mcnemar(theirs)
        baselines[name] = {
            "macro_f1": asdict(theirs.interval(theirs.macro_f1)),
            "accuracy": asdict(theirs.interval(theirs.accuracy)),
            "mcnemar": {
                "only_ours": test.only_first, "only_theirs": test.only_second, "p": test.p
            },
        }  # fmt: skip
    return {
        "logs": len(answers),
        "groups": ours.group_count,
        "macro_f1": asdict(ours.interval(ours.macro_f1)),
        "accuracy": asdict(ours.interval(ours.accuracy)),
        "per_class": _per_label(ours, [str(one.entry.paper_class) for one in answers]),
        "baselines": baselines,
    }


def _apart(answers: Sequence[Answer], by: Callable[[Entry], str]) -> dict[str, Any]:
    parts: dict[str, list[Answer]] = {}
    for one in answers:
        parts.setdefault(by(one.entry), []).append(one)
    return {name: _short(parts[name]) for name in sorted(parts)}


def _short(answers: Sequence[Answer]) -> dict[str, Any]:
    causes = answers_of(answers)
    return {
        "logs": len(answers),
        "groups": causes.group_count,
        "frozen": all(one.entry.frozen for one in answers),
        "macro_f1": causes.macro_f1(),
        "accuracy": causes.accuracy(),
    }


def _false_alarms(answers: Sequence[Answer]) -> dict[str, Any]:
    """Of runs that ended well, those that were named a failure."""
    return _share(
        [one for one in answers if one.entry.cause == "none"],
        lambda one: one.judged.cause != "none",
    )


def _missed(answers: Sequence[Answer]) -> dict[str, Any]:
    """Of runs that failed, those that were said to have ended well."""
    return _share(
        [one for one in answers if one.entry.cause != "none"],
        lambda one: one.judged.cause == "none",
    )


def _share(answers: Sequence[Answer], holds: Callable[[Answer], bool]) -> dict[str, Any]:
    if not answers:
        return {"logs": 0, "named": 0, "share": 0.0}
    weights = answers_of(answers).weights
    weight = sum(weight for one, weight in zip(answers, weights, strict=True) if holds(one))
    return {
        "logs": len(answers),
        "named": sum(map(holds, answers)),
        "share": float(weight / weights.sum()),
    }


def _confusion(answers: Sequence[Answer]) -> dict[str, Any]:
    labels = [one.entry.cause for one in answers]
    named = [one.judged.cause for one in answers]
    order = sorted({*labels, *named})
    table = confusion(labels, named, answers_of(answers).weights, order)
    return {"labels": order, "weights": table.tolist()}


def _told(one: Answer) -> dict[str, Any]:
    return {
        "id": one.entry.id,
        "label": one.entry.cause,
        "named": one.judged.cause,
        "confidence": one.judged.confidence,
    }


def rounded(value: Any) -> Any:
    """*value* with its numbers cut to what a corpus of this size can tell."""
    match value:
        case float():
            return round(value, _DECIMALS) if abs(value) > _TINY else float(f"{value:.1e}")
        case Mapping():
            return {key: rounded(one) for key, one in value.items()}
        case list() | tuple():
            return [rounded(one) for one in value]
        case _:
            return value
