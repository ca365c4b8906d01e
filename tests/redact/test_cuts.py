"""Cut texts: no part of a secret survives at any limit, wherever the cut is."""

from __future__ import annotations

import re
from typing import cast

import pytest

from gpualert_common.classify.line_prefixes import PrefixedLine
from gpualert_common.classify.lines import LinePosition
from gpualert_common.classify.observations import EXCERPT_CHARS, make_observation
from gpualert_common.classify.rules import RulePattern
from gpualert_common.redact import Redactor
from gpualert_common.report.text_sanitizer import LINE, TextSanitizer
from gpualert_common.whole_words import MARK, cut_to_last_lines, cut_words
from tests.redact.planting import FORMS_BY_THEIR_START, FORMS_IN_A_LINE, PlantedSecret, fill_words

FAILURE = re.compile("Failure 17")


@pytest.mark.parametrize("notation", FORMS_BY_THEIR_START)
def test_end_of_a_cut_text(notation: str) -> None:
    """A text that is cut after whole words has no part of a secret once it is masked."""
    planted, redactor = PlantedSecret(notation), Redactor()
    for at in planted.offsets(240, 1 + len(planted.text) // 100):
        cut = cut_words(f"{fill_words(at)}\n{planted.sample.text}\n{fill_words(90)}", 240)
        masked = redactor.mask_text(cut)
        assert not planted.find_survivors(masked), masked


@pytest.mark.parametrize("notation", FORMS_IN_A_LINE)
def test_excerpt_of_a_long_line(notation: str) -> None:
    """The excerpt of a long line has no part of a secret on either side of the match."""
    planted, redactor = PlantedSecret(notation), Redactor()
    for at in planted.offsets(EXCERPT_CHARS - len(MARK), 1 + len(planted.text) // 100):
        gap = fill_words(at)
        for line in (
            f"{planted.text} {gap}Failure 17",  # the excerpt begins in the secret
            f"{fill_words(400)}Failure 17 {gap}{planted.text} {fill_words(400)}",
            f"Failure 17 {gap}{planted.text} {fill_words(400)}",
        ):
            excerpt = _observe(line)
            masked = redactor.mask_text(excerpt)
            assert len(excerpt) <= EXCERPT_CHARS
            assert not planted.find_survivors(masked), masked
    line = f"{fill_words(400)}{planted.text} Failure 17 {fill_words(400)}"
    assert not planted.find_survivors(redactor.mask_text(_observe(line)))


@pytest.mark.parametrize("notation", FORMS_IN_A_LINE)
def test_line_of_a_message(notation: str) -> None:
    """A line of a message is masked before it is cut, and a broken record's text, too."""
    planted = PlantedSecret(notation)
    for at in planted.offsets(LINE, 5):
        shown = TextSanitizer(Redactor()).line(f"{fill_words(at)}{planted.text} {fill_words(50)}")
        assert not planted.find_survivors(shown), shown
    limit = 1 << 16
    for at in planted.offsets(limit, max(1, len(planted.text) // 3)):
        shown = TextSanitizer(Redactor()).line(f"{' ' * at}{planted.text} {fill_words(50)}")
        assert not planted.find_survivors(shown), shown


def test_match_in_an_excerpt() -> None:
    """An excerpt from the middle of a line begins with the word of the match."""
    line = f"{fill_words(400)}Failure 17 of worker"
    assert _observe(line).endswith(" Failure 17 of worker")
    excerpt = _observe(f"{fill_words(400)}node-4:Failure 17 {fill_words(400)}")
    assert excerpt.startswith(f"{MARK}node-4:Failure 17 ")
    assert excerpt.endswith(MARK)


def test_masks_in_an_excerpt_are_counted() -> None:
    """The number of masked secrets includes those masked when the excerpt was made."""
    excerpt = _observe(f"password=hunter2 {fill_words(400)}token=a1b2c3d4e5f6 Failure 17")
    text = TextSanitizer(Redactor())
    assert text.excerpt(excerpt).endswith("[redacted credential] Failure 17")
    assert text.masked == 1


def test_known_secret_of_several_words() -> None:
    """The words of a known secret that are left before a cut are masked."""
    known = "correct horse battery staple"
    for most in range(28, 50):
        masked = Redactor([known]).mask_text(cut_words(f"the login is {known} as ever", most))
        assert "correct h" not in masked


def test_last_words_of_a_known_secret() -> None:
    """The words of a known secret that are left at the begin of an excerpt are masked."""
    known = "abcd efgh ijkl mnop"
    for at in range(260, 310):
        excerpt = _observe(f"{fill_words(400)}the login is {known} {fill_words(at)}Failure 17")
        masked = Redactor([known]).mask_text(excerpt)
        assert "mnop" not in masked, masked


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [
        ("one two", 7, "one two"),
        ("one two three", 9, f"one two {MARK}"),
        ("one two three", 8, f"one {MARK}"),
        ("one", 2, MARK),
        ("one", 1, MARK),
        ('{"a":"b","c":"def"}', 13, f'{{"a":"b","c {MARK}'),
    ],
)
def test_whole_words(text: str, most: int, cut: str) -> None:
    """A text is cut after its last whole word within the limit."""
    assert cut_words(text, most) == cut


def test_last_lines() -> None:
    """A text keeps its last whole lines within the limit."""
    assert cut_to_last_lines("one\ntwo\nthree", 20) == "one\ntwo\nthree"
    assert cut_to_last_lines("one\ntwo\nthree", 11) == "two\nthree"
    assert cut_to_last_lines("one\ntwo\nthree", 3) == ""


def _observe(line: str) -> str:
    match = FAILURE.search(line)
    assert match is not None
    pattern = cast("RulePattern", None)  # is only kept
    place = LinePosition(1, 0)
    return make_observation(pattern, match, PrefixedLine(line, None, ""), "log", place).excerpt
