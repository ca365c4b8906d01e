"""A verdict as a page of Markdown, for pages of engines and for chats.

Text from a log is escaped, so that it is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpualert_common.report.mentions import make_inert_in_markdown
from gpualert_common.report.run_facts import Fact
from gpualert_common.report.verdict_view import EXIT_STATUS, EvidenceItem, VerdictView

MOST_BYTES = 64_000
_MARKS = re.compile(
    r"[\\`*\[~|]"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # within a word it has no meaning
    r"|^[-+#=]"
)
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_ENTITIES = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def plain(text: str) -> str:
    """Return *text*, which is one line, as Markdown that shows just that."""
    escaped = _NUMBERED.sub(r"\1\\\2", _MARKS.sub(r"\\\g<0>", text))
    return make_inert_in_markdown(escaped.translate(_ENTITIES))


def code(text: str) -> str:
    """Return *text*, which is one line, as a span of code."""
    if not text.strip():
        return ""
    fence = "`" * (_longest_run(text) + 1)
    room = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{room}{text}{room}{fence}"


def render_page(
    view: VerdictView,
    *,
    lasted_s: float | None = None,
    now: Sequence[Fact] = (),
    facts: Sequence[Fact] = (),
    more: str = "",
    most_bytes: int = MOST_BYTES,
) -> str:
    """Return the verdict, the most important part first, in at most ``most_bytes`` of UTF-8.

    ``now`` are the facts about a run in progress; ``more`` is a command that shows everything.
    """
    rest = f"\nThe rest is left out{more and f'; {code(more)} shows all of it'}.\n"
    left = most_bytes - len(rest.encode())
    kept: list[str] = []
    all_facts = [*facts, ("More", more)] if more else facts
    for piece in _pieces(view, lasted_s, now, all_facts):
        left -= len(piece.encode())
        if left < 0:
            return "".join([*kept, rest])
        kept.append(piece)
    return "".join(kept)


def _pieces(
    view: VerdictView, lasted_s: float | None, now: Sequence[Fact], facts: Sequence[Fact]
) -> Iterator[str]:
    yield f"## {plain(view.headline)}\n\n{plain(view.summarize(lasted_s))}\n"
    yield from _list("Now", [f"{label}: {plain(value)}" for label, value in now])
    for title, items in view.sections():
        some = [item for item in items if item]
        yield from _list(title, [_item(item) for item in some], numbered=title == "Do")
    yield from _list("Run", [f"{label}: {code(value)}" for label, value in facts])


def _item(item: str | EvidenceItem) -> str:
    if not isinstance(item, EvidenceItem):
        return plain(item)
    text = plain(item.claim)
    if ":" in item.where:
        text += f" ({code(item.where)})"
    elif item.where not in ("", EXIT_STATUS):
        text += f" ({plain(item.where)})"
    # A span, not a block, so that pages wrap it.
    return f"{text}\n\n  {code(item.excerpt)}" if item.excerpt else text


def _list(title: str, items: Sequence[str], *, numbered: bool = False) -> Iterator[str]:
    for number, item in enumerate(items, start=1):
        mark = f"{number}." if numbered else "*"
        yield f"{mark} {item}\n" if number > 1 else f"\n### {title}\n\n{mark} {item}\n"


def _longest_run(text: str) -> int:
    """Of backticks."""
    return max((len(run) for run in re.findall("`+", text)), default=0)
