"""Texts for people have no internal names: no family codes, no placeholders, no pattern names."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.causes import FAMILIES
from gpualert_common.classify import Rule, load_rules
from gpualert_common.diagnose.rule_text import show_template
from gpualert_common.model import ExitFacts
from gpualert_common.report.wording import describe_family
from gpualert_common.telemetry import source
from tests.diagnose.test_verdict import verdict
from tests.structure.source import ROOT

PAGES = sorted(
    path
    for place in ("docs", "docs/causes", "airflow_provider", "prefect_collection", ".")
    for path in (ROOT / place).glob("*.md")
)
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_FAMILY = re.compile(r"(?<![-\w])(?:" + "|".join(FAMILIES) + r")\b")
_RANGE = "A1 to G1"
"""The values of the key `family`, where a page describes the keys of a file."""
_SCORE = re.compile(r"\bF1\b")
_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")


def find_family_codes(text: str) -> list[str]:
    """Return the codes of families in a text, outside of code; F1 is also a score."""
    return _FAMILY.findall(_SCORE.sub("", _CODE.sub("", text).replace(_RANGE, "")))


def find_placeholders(text: str) -> list[str]:
    """Return the placeholders of templates in a text, outside of code."""
    return _PLACEHOLDER.findall(_CODE.sub("", text))


def rule_texts() -> Iterator[str]:
    """Yield all texts of all rules, as readers of the rules see them."""
    for rule in load_rules():
        for words in (rule.words, *rule.cases):
            for text in (*words.headline, *words.implies, *words.cannot_decide, *words.do):
                yield show_template(text)


@pytest.mark.parametrize("text", ["failed (B1)", "supports D2 by", "E2, a run", "A1 and C3"])
def test_codes_are_found(text: str) -> None:
    """The check of these texts fails for a code of a family."""
    assert find_family_codes(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages(page: Path) -> None:
    """A page has neither codes of families nor placeholders, except as code."""
    text = page.read_text()
    assert find_family_codes(text) == []
    assert find_placeholders(text) == []


def test_rules() -> None:
    """The texts of rules have neither codes of families nor placeholders."""
    texts = "\n".join(rule_texts())
    assert find_family_codes(texts) == []
    assert find_placeholders(texts) == []


def test_rules_at_the_shell() -> None:
    """``gpualert rules show`` prints families in words, and values as words in capitals."""
    command = [sys.executable, "-m", "gpualert_common", "rules", "show", "cuda_oom"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    texts = [line for line in shown.splitlines() if not re.match(r"(root|confirm|casc)", line)]
    assert "family         out of GPU memory" in texts
    assert find_family_codes("\n".join(texts)) == []
    assert find_placeholders("\n".join(texts)) == []


def test_families_have_words() -> None:
    """Each family has words for people."""
    assert [family for family in FAMILIES if describe_family(family) == family] == []


def test_sources() -> None:
    """``gpualert doctor`` describes in words what each source decides."""
    decides = [source.load_source_class(name).decides for name in source.list_sources()]
    assert find_family_codes("\n".join(decides)) == []


@pytest.mark.parametrize("rule", list(load_rules(samples=True)), ids=lambda rule: str(rule.id))
def test_claims(rule: Rule) -> None:
    """A claim about a line of the log does not name the pattern that found it."""
    hits = [samples.hits[0] for samples in rule.samples.values()]
    texts = {one.claim for hit in hits for one in verdict(f"{hit}\n", ExitFacts(1)).shows}
    names = {pattern.name.replace("_", " ") for pattern in load_rules().patterns}
    assert [text for text in texts if text.partition(": ")[2].split(",")[0] in names] == []
