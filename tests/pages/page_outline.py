"""Outline of an HTML page: its elements with their attributes, and the text of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "path", "circle", "line", "rect"})


@dataclass
class Element:
    """One element; ``text`` is all text in it."""

    tag: str
    attributes: dict[str, str | None]
    parents: tuple[Element, ...] = ()
    text: str = ""
    children: list[Element] = field(default_factory=list)

    @property
    def id(self) -> str | None:
        """The anchor of the element."""
        return self.attributes.get("id")


class PageOutline(HTMLParser):
    """The elements of a page in order; ``faults`` are tags that do not fit."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.faults: list[str] = []
        self._open: list[Element] = []
        self.feed(page)
        self.close()
        self.faults += [f"<{one.tag}> is not closed" for one in self._open]

    def find(self, tag: str) -> list[Element]:
        """Return the elements of that tag."""
        return [one for one in self.elements if one.tag == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add an element."""
        element = Element(tag, dict(attrs), tuple(self._open))
        if self._open:
            self._open[-1].children.append(element)
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add an element without content."""
        self.elements.append(Element(tag, dict(attrs), tuple(self._open)))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element, which has this tag."""
        if tag in _VOID:
            return
        if not self._open or self._open[-1].tag != tag:
            self.faults.append(f"</{tag}> in {[one.tag for one in self._open]}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        """Add text to all open elements."""
        for one in self._open:
            one.text += data
