"""What the classifier says of a log of the corpus: the same words as ``gpualert classify``."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

from gpualert_common.classifier import RunClassifier
from gpualert_common.corpus.entries import Entry, log_path
from gpualert_common.errors import CorpusError
from gpualert_common.spec import Ending


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled log and what was named: cause, the paper's class (None: none), confidence."""

    entry: Entry
    cause: str
    paper_class: str | None
    confidence: float

    @property
    def right(self) -> bool:
        """True when the cause that was named is the label."""
        return self.cause == self.entry.cause


def judge(entry: Entry, log: bytes) -> Judged:
    """What ``gpualert classify LOG --exit-code N`` names, with the exit code of *entry*."""
    ending = Ending(0.0)
    ending.code = entry.exit_code
    judge = RunClassifier()
    judge.feed_stream(io.BytesIO(log), f"{entry.name}.log")
    verdict = judge.conclude(ending, {})
    return Judged(entry, verdict["cause"], verdict["paper_class"], verdict["confidence"])


def read_log(corpus: str | os.PathLike[str], entry: Entry) -> bytes:
    """The log of *entry*.  Raises :class:`CorpusError` where there is none."""
    path: Path = log_path(corpus, entry)
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}, though an entry names it") from error
