"""Classifications of the logs, as ``gpualert classify LOG --exit-code N`` gives them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from corpus.entries import CorpusEntry
from corpus.errors import CorpusError
from corpus.evaluation.labelled_logs import LabelledLog
from gpualert_common.classifier import RunClassifier
from gpualert_common.model import EvidenceKind
from gpualert_common.spec import EndFacts, Ending

Change = Callable[[LabelledLog], bytes]

_WORTH_PROCESSES = 100
"""Fewer logs are classified before another process has read the rules."""
_CHUNK_LOGS = 16


@dataclass(frozen=True, slots=True)
class Classification:
    """The cause, the paper's class (None: none), the confidence and its evidence, of one log."""

    cause: str
    paper_class: str | None
    confidence: float
    evidence: EvidenceKind


@dataclass(frozen=True, slots=True)
class ClassifiedLog:
    """A labelled log and its classification."""

    log: LabelledLog
    classification: Classification

    @property
    def entry(self) -> CorpusEntry:
        """The entry of the log."""
        return self.log.entry

    @property
    def is_correct(self) -> bool:
        """True if the cause is the label."""
        return self.classification.cause == self.entry.cause


def classify_logs(logs: Sequence[LabelledLog], change: Change | None = None) -> list[ClassifiedLog]:
    """Classify each of *logs* on all cores, as it is or as *change* makes it."""
    classify = partial(_classify_changed, change)
    if len(logs) < _WORTH_PROCESSES:
        return [ClassifiedLog(log, classify(log)) for log in logs]
    with ProcessPoolExecutor(mp_context=get_context("forkserver")) as workers:
        found = workers.map(classify, logs, chunksize=_CHUNK_LOGS)
        return [ClassifiedLog(*one) for one in zip(logs, found, strict=True)]


def _classify_changed(change: Change | None, log: LabelledLog) -> Classification:
    return _classify(log.entry, log.content if change is None else change(log))


def _classify(entry: CorpusEntry, content: bytes) -> Classification:
    ending = Ending(0.0)
    ending.code = entry.exit_code
    judge = RunClassifier()
    judge.feed_stream(io.BytesIO(content), f"{entry.name}.log")
    verdict = judge.conclude(ending, EndFacts())
    if judge.explanation is None:
        raise CorpusError(f"{entry.id}: the verdict has no explanation")
    evidence = judge.explanation.evidence
    return Classification(verdict.cause, verdict.paper_class, verdict.confidence, evidence)
