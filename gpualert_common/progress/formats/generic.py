"""Lines of any program with a step or an epoch, and a loss, each with its name.

Sources: the loops in tests/progress/captured/programs/torch_loop.py, the corpus of this project,
and the lines of tutorials: ``step 10 loss 0.3``, ``[epoch 1, batch 200] loss: 1.2``, ``Epoch: [0][
10/100]  Loss 1.6e+00``, ``iter 100: loss 3.2, time 20ms``, ``Epoch 3/10 | train loss: 0.2 | val
loss: 0.3``, a dictionary, a line of JSON, a bar of tqdm, a header with the loss below it.

Lines of one shape (the names of the step and the loss) form a series; the best series counts.  A
shape is sure when the step comes first in the line or in a dictionary; any other shape must occur
again with a later step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpualert_common.progress.formats._interface import (
    FormatParser,
    Hints,
    ParsedItem,
    ProgressLine,
    ShapedPoint,
)
from gpualert_common.progress.formats._roles import NumberRole, find_role, read_measures
from gpualert_common.progress.model import Phase
from gpualert_common.progress.pairs import Losses, Pair, find_losses, find_pairs, to_count
from gpualert_common.progress.step_counter import StepCounter
from gpualert_common.regex import compile_bytes

_HEADER = (
    rb"(?:^|[\]:|>.)-]|[\dZ] )\W{0,12}(?i:(?:global|train|training)?[ _]?"
    rb"(?:step|epoch|iteration|iter|batch|update)s?)\W{0,4}\d"
)
_LOSS = (
    rb"(?i:\bloss(?:es)?\b|_loss|loss_|/loss|loss/)[\w./\"')]{0,24}[ \t]{0,3}[:=|(]?[ \t\"'(]{0,8}"
    rb"(?:[-+]?\d|[-+]?\.\d|[-+]?(?i:nan|inf))"
)
_LOSS_FIRST = compile_bytes(rb"(?i)^\W{0,12}(?:[a-z][\w.]* ){0,1}loss\W{1,4}[-+\dni.]")
_EVALUATES = compile_bytes(
    rb"(?i)^\W{0,4}(?:val|valid|validat\w+|eval|evaluat\w+|test(?:ing)?|dev|infer\w*|predict\w*)\b"
)
_CONFIGURES = compile_bytes(rb"Namespace\(|Config\(|Arguments\(|^ *--|\bargs?[:=]|^\+ |usage:")
_LEAD = compile_bytes(
    rb"(?i)\[[^\]]{0,80}\]|\b(?:info|debug|warning|mainprocess|mainthread)\b"
    rb"|\b(?:rank|worker|gpu)[ =:]\d+|\d{1,2}:\d\d:\d\d[\d.,]*|20\d\d-\d\d-\d\d"
    rb"|[|:>*=#,'\"(){}\[-]|\s{2,}"
)
_LABEL = compile_bytes(rb"(?i)^$|epoch|train|step|iter|fit\b|batch")
_NO_TRAINING = compile_bytes(
    rb"(?i)dataset|token|shard|load|map|pack|prepar|extract|cach|split|generat|filter|convert|adding"
)
_HEADER_LINES = 6
_SURE_WITHIN = 24
_MOST_COUNTS = 8


class _Position(NamedTuple):
    """Position on a line, with the names of its numbers."""

    name: str
    step: int | None = None
    total: int | None = None
    epoch: float | None = None
    epochs: int | None = None
    in_epoch: bool = False
    is_sure: bool = True
    unit: str = "step"


class GenericParser(FormatParser):
    """Parser that adds up steps over epochs, and joins a header with the loss below it."""

    hints = Hints(steps=_LOSS + rb"|" + _HEADER, bars=True)

    def __init__(self) -> None:
        self._counts: tuple[tuple[str, StepCounter], ...] = ()
        self._header: tuple[_Position, int] | None = None
        self._evaluation = ""

    def read(self, line: ProgressLine) -> Iterator[ParsedItem]:
        """Yield the items on *line*."""
        if line.bar is not None:
            yield from self._read_bar(line)
        text = line.text
        if not text or _CONFIGURES.search(text):
            return
        found = find_pairs(text)
        result = find_losses((pair.name, pair.value) for pair in found)
        where = _find_position(text, found)
        if where is None:
            where = self._under_header(line)
        elif result.train is None and result.evaluation is None:
            self._header = (where, line.place.line) if where.is_sure else None
        if where is None:
            return
        if result.evaluation is None and _EVALUATES.search(text):
            result = result._replace(train=None, evaluation=result.train)
        shape = f"{where.name}|{result.name.decode('latin-1')}"
        yield from self._make_points(line, where, result, shape, found)

    def _under_header(self, line: ProgressLine) -> _Position | None:
        """Return the position in the header above a line that has only a loss."""
        if self._header is None or not _LOSS_FIRST.search(line.text):
            return None
        where, at = self._header
        return where if line.place.line - at <= _HEADER_LINES else None

    def _make_points(
        self,
        line: ProgressLine,
        where: _Position,
        result: Losses,
        shape: str,
        found: list[Pair],
    ) -> Iterator[ParsedItem]:
        step = self._count(where)
        total = where.total
        if where.in_epoch:
            total = total * where.epochs if total and where.epochs else None
        elif total is not None and step is not None and step > total:
            total = None
        at = {"step": step, "total_steps": total, "epoch": where.epoch}
        if result.evaluation is not None:
            point = line.make_point(phase=Phase.EVAL, loss=result.evaluation, **at)
            yield ShapedPoint("evaluation", point, is_sure=False)
        if result.train is not None or result.evaluation is None:
            point = line.make_point(loss=result.train, **at, **read_measures(found))
            by_clock = line.bar is not None
            yield ShapedPoint(shape, point, where.is_sure, where.unit, by_clock)

    def _count(self, where: _Position) -> int | None:
        """Return the step over all epochs; each name has its own count."""
        if where.step is None or where.epoch is None:
            return where.step
        counts = dict(self._counts)
        counts[where.name] = counts.get(where.name, StepCounter()).advance(
            where.step, where.epoch, batches=where.total, in_epoch=where.in_epoch
        )
        self._counts = tuple(counts.items())[-_MOST_COUNTS:]
        return counts[where.name].step

    def _read_bar(self, line: ProgressLine) -> Iterator[ParsedItem]:
        bar = line.bar
        label = b"" if bar is None else bar.label.encode()
        if bar is None or not _LABEL.search(label):
            return
        if _EVALUATES.search(label) or _NO_TRAINING.search(label):
            return
        epochs = (one for one in find_pairs(label) if find_role(one.name) is NumberRole.EPOCH)
        epoch = next((one for one in epochs if to_count(one.value) is not None), None)
        where = _Position(
            name="bar of an epoch" if epoch else "bar" if label else f"bar of {bar.total}",
            step=bar.done,
            total=bar.total,
            epoch=epoch.value if epoch else None,
            epochs=epoch.total if epoch else None,
            in_epoch=epoch is not None,
            unit="step" if label else "item",
        )
        behind = find_pairs(bar.rest) if bar.done else []
        result = find_losses((pair.name, pair.value) for pair in behind)
        evaluation = f"{result.evaluation}"  # a bar shows it until the next evaluation
        if result.evaluation is not None and evaluation != self._evaluation:
            self._evaluation = evaluation
            yield from self._make_points(
                line, where, result._replace(train=None), where.name, behind
            )
        yield from self._make_points(
            line, where, result._replace(evaluation=None), where.name, behind
        )


def _find_position(text: bytes, found: list[Pair]) -> _Position | None:
    """Return the position on a line, None when there is none."""
    if _is_bracketed(text, found):
        first, second = found[:2]
        total = first.total
        return _Position(
            "[n][n/m]", second.integer, second.total, first.value, total, in_epoch=True
        )
    epoch = step = None
    for pair in found:
        role = find_role(pair.name)
        if role is NumberRole.EPOCH and to_count(pair.value) is not None:
            epoch = epoch or pair
        elif pair.integer is None or text[: pair.begin].endswith(b"nan "):
            continue
        elif role > NumberRole.EPOCH and (step is None or role > find_role(step.name)):
            step = pair
    counter = None if step is not None else _find_counter(text, found)
    by = step or counter or epoch
    if by is None:
        return _find_bare(text, found)
    begin = min(pair.word_begin for pair in (by, epoch) if pair is not None)
    by_batch = by is counter or find_role(by.name) is NumberRole.BATCH
    words = {pair.name.rpartition(b" ")[2].lower() for pair in (by, epoch) if pair is not None}
    return _Position(
        name=b"+".join(sorted(words)).decode("latin-1"),
        step=by.integer if by is not epoch else None,
        total=by.total if by is not epoch else None,
        epoch=epoch.value if epoch is not None else None,
        epochs=epoch.total if epoch is not None else None,
        in_epoch=epoch is not None and by_batch,
        is_sure=_is_first(text[:begin]),
        unit="epoch" if by is epoch else _find_unit(found, by),
    )


def _is_bracketed(text: bytes, found: list[Pair]) -> bool:
    """Return True for lines like ``[0/5][12/782] ...``."""
    if len(found) < 2 or b"][" not in text.replace(b"] [", b"]["):
        return False
    first, second = found[:2]
    if first.integer is None or second.integer is None or second.total is None:
        return False
    return first.begin <= 8 and not first.name and not second.name


def _find_counter(text: bytes, found: list[Pair]) -> Pair | None:
    """Return an unnamed ``5/10`` before the loss."""
    for pair in found:
        if find_losses([(pair.name, pair.value)]).name:
            return None
        alone = pair.name.lower() in (b"", b"train", b"training")
        if pair.total is not None and alone and text[pair.end : pair.end + 1] != b"/":
            return pair
    return None


def _find_bare(text: bytes, found: list[Pair]) -> _Position | None:
    """Return the position in ``0010 loss 0.3``, a table without a header."""
    if len(found) < 2 or found[0].name or found[0].integer is None:
        return None
    if text[: found[0].begin].strip(b"|[( ") or not find_losses([(found[1].name, 0.0)]).name:
        return None
    return _Position("n", found[0].integer, is_sure=False)


def _find_unit(found: list[Pair], counter: Pair) -> str:
    """Return the unit: a counter before a percentage counts samples, ``[640/60000 (1%)]``."""
    later = next((pair for pair in found if pair.begin >= counter.end), None)
    share = later is not None and not later.name and later.unit == b"%" and not counter.name
    return "sample" if share else "step"


def _is_first(before: bytes) -> bool:
    """Return True when a position after *before* is the subject of its line."""
    if before:
        before = _LEAD.sub(b"", before).strip()
    return len(before) <= _SURE_WITHIN and b" " not in before


PARSER: type[FormatParser] = GenericParser
