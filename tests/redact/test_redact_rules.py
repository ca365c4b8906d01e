"""Rule files of secrets: the shipped ones are valid, and each error names file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.redact.secret_checks import check_secrets

GOOD = """
id = "mine"
title = "A token of mine"
order = 1
since = "0.1.0"
sources = ["x"]
[parts]
number = '''[0-9]{4,}'''
[[patterns]]
name = "token"
literals = ["mine_"]
re = '''mine_<<number>>'''
unless = '''0000'''
[samples.token]
hits = ["is «mine_{{digit:3}}1»"]
near_misses = ["mine_0000", "mine_123"]
"""
MISTAKES = {
    "unknown key": ('order = 1', 'order = 1\nodrer = 2', "mine.toml: odrer: unknown key"),
    "no order": ("order = 1\n", "", "mine.toml: order: is missing"),
    "no patterns": (GOOD[GOOD.index("[[pat") :], "", "mine.toml: patterns: there is none"),
    "other name": ('id = "mine"', 'id = "yours"', "mine.toml: id: is 'yours'"),
    "no version": ('"0.1.0"', '"soon"', "mine.toml: since: 'soon' is not a version"),
    "upper case": ('["mine_"]', '["Mine_"]', "patterns[0].literals: 'Mine_': lower-case"),
    "not RE2": ("{4,}", "{4,}(?=x)", "mine.toml: patterns.token: not an RE2 expression"),
    "unless not RE2": ("'0000'", "'(?!0)'", "mine.toml: patterns.token: not an RE2 expression"),
    "not ASCII": ("mine_<<", "mine_ß<<", "patterns[0].re: must be ASCII"),
    "no such part": ("<<number>>", "<<numbre>>", "patterns[0].re: <<numbre>>: no part of this"),
    "no samples": (GOOD[GOOD.index("[samples") :], "", "samples.token: needs a hit"),
    "samples of nothing": ("[samples.token]", "[samples.tokne]", "samples.tokne: no pattern has"),
    "no hit": ("«mine_{{digit:3}}1»", "«yours»", "samples.token.hits: no hit: 'is yours'"),
    "not all of it": ("is «mine_", "is «mine_mine_", "becomes 'is mine_[redacted mine]'"),
    "nothing marked": ("«mine_{{digit:3}}1»", "mine_1", "marks no secret: 'is mine_1'"),
    "wrong literal": ('["mine_"]', '["yours_"]', "holds none of the literals"),
    "near miss hits": ("mine_123", "mine_1234", "samples.token.near_misses: hits: 'mine_1234'"),
    "unknown alphabet": ("{{digit:3}}", "{{roman:3}}", "{{roman:3}}: the alphabets are"),
}  # fmt: skip


def problems_of(tmp_path: Path, text: str) -> list[str]:
    """Return the problems of rules with only this kind."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "mine.toml").write_text(text)
    return [str(problem) for problem in check_secrets(tmp_path)]


def test_all_in_order() -> None:
    """The shipped kinds have no problems."""
    assert [str(problem) for problem in check_secrets()] == []


def test_good_file_passes(tmp_path: Path) -> None:
    """The base file for the errors below is valid."""
    assert problems_of(tmp_path, GOOD) == []


@pytest.mark.parametrize(("old", "new", "problem_text"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_is_named(tmp_path: Path, old: str, new: str, problem_text: str) -> None:
    """An error names the file and the key."""
    assert GOOD.count(old) == 1
    problems = problems_of(tmp_path, GOOD.replace(old, new))
    assert any(problem_text in problem for problem in problems), problems
    assert all(problem.startswith("mine.toml: ") for problem in problems)


def test_names_are_unique_in_a_file(tmp_path: Path) -> None:
    """Two patterns of one name are an error: samples would be ambiguous."""
    again = "[[patterns]]\nname = 'token'\nre = 'x'\n[samples.token]"
    assert "is not unique" in problems_of(tmp_path, GOOD.replace("[samples.token]", again))[0]


def test_lower_order_names_what_two_kinds_see(tmp_path: Path) -> None:
    """A hit that another kind masks is an error."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "mine.toml").write_text(GOOD)
    other = GOOD.replace('"mine"', '"first"').replace("order = 1", "order = 0")
    (tmp_path / "secrets" / "first.toml").write_text(other)
    assert [error.file for error in check_secrets(tmp_path)] == ["mine.toml"]
