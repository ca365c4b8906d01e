"""Mentions in logs and names notify nobody and link nothing, and the text stays readable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpualert_common.report.markdown import code, plain, render_page
from gpualert_common.report.mentions import make_inert_in_chat
from gpualert_common.report.message import render_alert
from gpualert_common.report.samples import FAILED
from gpualert_common.structs import replace

MENTIONS = [
    *("@everyone", "@here", "@channel", "@all", "@user", "a@everyone", "@@here", "(@here)"),
    *("<!channel>", "<!here|here>", "<@U123>", "<@&42>", "<@!42>", "<#C123>", "<users/all>"),
    *("<!subteam^S1>", "<at>Everyone</at>", "<https://example.org|click>", "@team/people"),
]
ACTIVE = re.compile(r"@[\w@<&!]|<[!@#&/\w]")
"""The start of every mention that one of the services knows."""


def shown(text: str) -> str:
    """Return what a person sees of a text."""
    return text.replace("\u200b", "")


@pytest.mark.parametrize("mention", MENTIONS)
def test_mention_in_chat(mention: str) -> None:
    """A mention is broken by a blank that nobody sees."""
    inert = make_inert_in_chat(f"loss {mention} nan")
    assert not ACTIVE.search(inert)
    assert shown(inert) == f"loss {mention} nan"


@pytest.mark.parametrize("code", ["a @ b", "x < y", "a <= b", "1 << 20", "if a<= b", "end <"])
def test_code_in_chat(code: str) -> None:
    """Operators of a program are left as they are."""
    assert make_inert_in_chat(code) == code


@pytest.mark.parametrize("mention", MENTIONS)
def test_brief_alert(mention: str) -> None:
    """A message for a chat mentions nobody that a log, a name or a host mentions."""
    view = replace(
        FAILED, job=mention, headline=f"no {mention}", host=mention, do=(mention,),
        log_tail=(mention,), next_command=mention, cause=mention,
    )  # fmt: skip
    alert = render_alert(view, text_bytes=4000, brief=True)
    assert mention in shown(alert.text)
    assert not ACTIVE.search(alert.text)
    assert not ACTIVE.search(alert.subject)
    mail = render_alert(view, text_bytes=4000)
    assert mention in mail.text
    assert "\u200b" not in mail.text


def test_template_that_mentions(tmp_path: Path) -> None:
    """A template of the user may mention people, as it says; its variables may not."""
    (tmp_path / "brief.txt.j2").write_text(
        "<!channel> @here {{ alert.headline }} {{ alert.host | upper }}"
    )
    view = replace(FAILED, headline="@everyone", host="@all")
    alert = render_alert(view, text_bytes=4000, brief=True, templates=str(tmp_path))
    assert alert.text.startswith("<!channel> @here @\u200beveryone @\u200bALL")


LINKS = [
    "@user",
    "by @user.",
    "#123",
    "owner/name#123",
    "GH-12",
    "gh-12",
    "@org/team",
    "a@b.example",
]


@pytest.mark.parametrize("link", LINKS)
def test_link_in_markdown(link: str) -> None:
    """GitHub finds neither a user nor an issue, and a person sees the text."""
    inert = plain(f"loss {link} nan")
    assert not re.search(r"@\w|#\d|GH-\d", inert, re.IGNORECASE)
    assert shown(inert) == f"loss {link} nan"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "<img src=x onerror=alert(1)>",
            "[click](https://example.org)",
            "![x](https://example.org)",
        ),
        *(
            "`code`",
            "**bold**",
            "# title",
            "| a | b |",
            "~~no~~",
            "<!-- comment -->",
            "- item",
            "> quote",
        ),
        *("&lt;", "\\`x`", "<details>", "1. item", "==="),
    ],
)
def test_markup_in_markdown(text: str) -> None:
    """Markup in a headline is text: no mark of it is left without its escape."""
    page = render_page(replace(FAILED, headline=text, shows=(), log_tail=()))
    title = page.splitlines()[0].removeprefix("## ")
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*\[~|]|^[-+#=>]|^\d+[.)] |<|&(?!lt;|gt;|amp;)", title)


@pytest.mark.parametrize("text", ["a`b", "``", "`a`", "@user #1", "<b>"])
def test_code_in_markdown(text: str) -> None:
    """A span of code shows its text, in which nothing is linked, as it is."""
    fence = re.match("`+", code(text))
    assert fence is not None
    assert fence[0] not in text
    assert text in code(text)
