"""Prefixes of lines: what launchers and loggers write in front of the text of a program."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from gpualert_common.classify.json_records import read_error_record

_TIME = r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?"
_DAY = r"(?:\d{4}[-/]\d\d[-/]\d\d|\d{1,2}[-/]\d{1,2}[-/]\d{2,4}|\d{1,2}[-/]\d{1,2})"
_STAMP = rf"{_DAY}[T ]{_TIME}(?:\ ?[AP]M)?(?:Z|\ UTC|\ ?[+-]\d\d:?\d\d)?"
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|NOTICE)"
_FILE = r"[\w./<>-]{1,120}:\d+(?::[\w<>.]{1,80})?"
_PREFIX = rf"""
      \[rank(?P<torch>\d{{1,6}})\]:\ ?                              # torch's excepthook and C++ log
    | \[[a-z_]+(?P<tee>\d{{1,6}})\]:\ ?                             # torchrun --tee: [default1]:
    | \[\d+,(?P<mpi>\d{{1,6}})\]<std(?:out|err|diag)>:\ ?           # mpirun --tag-output
    | \ {{0,3}}(?P<srun>\d{{1,5}}):\ (?=\S|\ {{2}})                 # srun --label
    | \((?P<ray>[^()\n]{{0,80}}\b(?:pid|ip)=[^()\n]{{1,80}})\)\ ?   # ray, vLLM
    | (?P<host>(?!python|collect)(?:\d{{1,3}}(?:\.\d{{1,3}}){{3}}|[a-z][\w.-]*\d)):\ (?=\S|\ {{2}})
    | (?P<compose>[a-z][\w.-]{{0,60}}[-_]\d{{1,4}})\ +\|\ ?         # docker compose
    | (?:[0-9a-f]{{8}}\ )?\[rank=(?P<determined>\d{{1,6}})\]\ \|\|\ ?  # Determined
    | [0-9a-f]{{8}}\ \|\|\ ?
    | \[(?P<pod>pod/[^\]\s]{{1,200}})\]\ ?                          # kubectl logs --prefix
    | (?P<bar>[^|\n]{{0,80}}\d%\|[^|\n]*\|\ [\d.kMG]+/[\d.kMG?]+\ \[[^\]\n]{{3,80}}\])(?=[^\s\]])
    | \[rank(?::\ ?|\ )(?P<named>\d{{1,6}})\]:?\ ?                  # trainers: [rank: 0]
    | (?P<stamp>
        \[[IWEFC](?:\d{{3,4}}\ [\d:.]+)?\ [^\]\n]{{1,200}}\]\ ?     # glog as torch writes it
      | [IWEF]\d{{4}}\ \d\d:\d\d:\d+\.\d+\ +\d+\ [^\]\n]{{1,200}}\]\ ?  # glog, absl
      | [IWEF]\ [\w./]{{1,120}}:\d+\]\ ?                            # TensorFlow, behind its time
      | \[\ *\d{{1,9}}\.\d{{6}}\]\ ?                                # kernel
      | [A-Z][a-z]{{2}}\ [\ \d]\d\ {_TIME}\ [\w.-]+\ [\w./-]+(?:\[\d+\])?:\ ?   # syslog
      | \[{_STAMP}\]:?\ ?
      | {_STAMP}(?::\ |:?\ ?)
      | \[{_TIME}\]:?\ ?
      | [A-Z][a-z]{{2}}\ [A-Z][a-z]{{2}}\ [\ \d]\d\ {_TIME}\ \d{{4}}:?\ ?  # ctime
      | std(?:out|err)\ [FP]\ ?                                     # container runtimes
      | \[{_LEVEL}\|[^\]\n]{{1,120}}\]\ ?                           # Transformers
      | >>\ (?=\S)
      | std(?:out|err):\ (?=\S|\ {{2}})                           # Accelerate's test command
      | \[{_LEVEL}\]\ ?(?=\[[\w./-]+:\d+)                           # DeepSpeed
      | \[{_FILE}\]\ ?
      | \[[\w.]{{1,80}}\]\[{_LEVEL}\]\ -\ ?                         # hydra
      | -\ {_LEVEL}\ -\ [\w.<>-]{{1,80}}\ -\ +                      # examples of Transformers
      | [-,:]?\ ?[\w.<>-]{{1,80}}\ -\ {_LEVEL}\ -\ +                # logging, as its manual has it
      | -\ {_LEVEL}\ -\ +
      | \|\ {_LEVEL}\ +\|\ [^|\n]{{1,160}}?\ -\ ?                   # loguru
      | {_LEVEL}\ +(?:workerpool|master|worker|ps)\d+-\d+\ ?     # Vertex
      | {_LEVEL}\ \d\d-\d\d\ {_TIME}\ \[?[\w./-]+:\d+\]\ ?          # vLLM
      )
    """
_MAX_PREFIXES = 6
"""A launcher's, a rank, a time, a level, a logger's own; more is text that looks like them."""

_RANKS = frozenset({"torch", "tee", "mpi", "srun", "named", "determined"})


@cache
def _compile_prefix() -> re.Pattern[str]:
    """Return the expression of a prefix, compiled at the first line: that takes 3 ms."""
    return re.compile(_PREFIX, re.VERBOSE)


class PrefixedLine(NamedTuple):
    """A line apart from its prefixes, without escape sequences.

    ``rank`` is the rank that a prefix names.  ``stream`` is equal for lines of one process, and
    "" for lines without a prefix.  ``is_stamped`` is True for the first line of a logger's record.
    """

    text: str
    rank: int | None
    stream: str
    is_stamped: bool = False


def strip_prefixes(piece: bytes) -> PrefixedLine:
    """Return *piece*, which has no escape sequences, as text without its prefixes.

    Bytes that are not UTF-8 are replaced; NULs are dropped.  One space after a prefix belongs to
    it; deeper indentation stays, because it distinguishes the frames of a traceback from its last
    line.
    """
    text = piece.decode("utf-8", "replace").replace("\0", "")
    rank: int | None = None
    stream = ""
    is_stamped = False
    for _ in range(_MAX_PREFIXES):
        match = _compile_prefix().match(text)
        if match is None or match.end() == 0:
            break
        kind = match.lastgroup
        if kind == "stamp":
            is_stamped = True
        elif kind not in (None, "bar"):
            stream = f"{stream}{kind}{match[kind]} "
            if kind in _RANKS and rank is None:
                rank = int(match[kind])
        text = text[match.end() :]
    text = read_error_record(text.rstrip())
    return PrefixedLine(text, rank, stream.rstrip(), is_stamped)
