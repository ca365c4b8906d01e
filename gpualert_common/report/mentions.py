"""Mentions of people and channels in text that nobody wrote: shown as they are, and inert."""

from __future__ import annotations

import re

_BREAK = "\u200b"
"""A blank of no width, which no service takes as a part of a name."""
_IN_CHATS = re.compile(r"[@<](?=[^\s=<])")
_IN_MARKDOWN = re.compile(r"@(?=\w)|#(?=\d)|\bGH-(?=\d)", re.ASCII | re.IGNORECASE)


def make_inert_in_chat(text: str) -> str:
    """Return a text in which ``@here``, ``<!channel>`` and their like notify nobody."""
    return _IN_CHATS.sub(rf"\g<0>{_BREAK}", text)


def make_inert_in_markdown(text: str) -> str:
    """Return *text*, in which GitHub and its like link no user and no issue."""
    return _IN_MARKDOWN.sub(rf"\g<0>{_BREAK}", text)
