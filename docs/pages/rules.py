"""Pages of the rules: an index, and a page for each cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.evaluation.pattern_hits import read_hits
from docs.pages.markdown import format_code, format_list, join_parts
from gpualert_common.classify.rules import ANY_VALUE, Rule, RulePattern, RuleText
from gpualert_common.diagnose.rule_text import show_template
from gpualert_common.model import Role
from gpualert_common.report.wording import describe_family

HEAD = """\
# Causes

Made from `rules/*.toml` by `make docs`; do not edit. Each cause has a page with the text of its
verdict, the advice, and the log lines that its patterns match.

GPUAlert never concludes from one pattern alone. A pattern that matches is an observation with a
role: `root` names the cause, `confirmation` proves it, `cascade` is a consequence of another
failure, `report` is a launcher's summary of its child processes, and `benign` excludes a line. For
an exception, the message takes precedence over the place where it was raised, and the place over
its type. If several causes match one message, the one further up in this table wins. Of several
failures, the most specific one is the root cause, and among equals the earliest.

Words in capitals stand for values of the run, such as PATH.

| cause | family | attribution | retry | headline |
|---|---|---|---|---|
"""

HITS = """
## Patterns and the corpus

For each cause, the number of its patterns, and how many of them match in two or more, in one and
in none of the open origins of the corpus. `python -m corpus pattern-hits` lists them by name and
writes `corpus/pattern_hits.json`.

| cause | patterns | two origins | one | none |
|---|---:|---:|---:|---:|
"""

_TITLES = {
    Role.ROOT: "Root: the cause itself",
    Role.CONFIRMATION: "Confirmation: a proof of the cause",
    Role.CASCADE: "Cascade: a consequence of an earlier failure",
    Role.REPORT: "Report: a launcher's summary of its processes",
    Role.BENIGN: "Benign: no failure",
}


def make_rules_page(rules: Sequence[Rule]) -> str:
    """Return the index of all rules, in their order."""
    index = "".join(
        f"| [{rule.id}](causes/{rule.id}.md) | {describe_family(rule.family or '-')} "
        f"| {rule.attribution} | {rule.retry} | {show_template(rule.words.headline[-1])} |\n"
        for rule in rules
    )
    return HEAD + index + HITS + "".join(_hit_rows(rules))


def _hit_rows(rules: Sequence[Rule]) -> Iterator[str]:
    hits = read_hits()
    for rule in rules:
        origins = [hits.get(one.id, 0) for one in rule.patterns]
        if origins:
            two, one = sum(number > 1 for number in origins), origins.count(1)
            yield f"| {rule.id} | {len(origins)} | {two} | {one} | {origins.count(0)} |\n"


def make_cause_page(rule: Rule) -> str:
    """Return the page of one cause: the text of its verdict, and the lines that it matches."""
    words = rule.words
    parts = [
        f"# {rule.id}",
        f"Made from `rules/{rule.file}` by `make docs`; do not edit. [All causes](../rules.md).",
        f"*{show_template(words.headline[-1])}*",
        show_template(words.implies[-1]),
        _facts(rule),
    ]
    for title, texts in (("Cannot decide", words.cannot_decide), ("What to do", words.do)):
        if texts:
            parts.append(f"{title}:\n\n{format_list(map(show_template, texts))}")
    parts += [_case_section(case) for case in rule.cases]
    if rule.patterns:
        parts.append("## Matched lines")
        parts += _role_sections(rule)
    parts += _exception_lines(rule)
    parts.append("Sources: " + "; ".join(rule.sources) + f". Since {rule.since}.")
    return join_parts(parts)


def _facts(rule: Rule) -> str:
    """Return family, attribution and retry of a rule in one line."""
    family = f"Family: {describe_family(rule.family)}" if rule.family else "No family"
    return f"{family}; attribution: {rule.attribution}; retry: {rule.retry}."


def _case_section(case: RuleText) -> str:
    """Return the text that a verdict has in a special case of a cause."""
    when = ", ".join(
        f"{name} is {'known' if value == ANY_VALUE else f'`{value}`'}" for name, value in case.when
    )
    changes = {"attribution": case.attribution, "retry": case.retry}
    other = "; ".join(f"{name}: {value}" for name, value in changes.items() if value is not None)
    texts = map(show_template, [*case.headline[-1:], *case.implies[-1:], *case.do])
    return f"When {when}{other and f' ({other})'}:\n\n{format_list(texts)}"


def _role_sections(rule: Rule) -> Iterator[str]:
    """Yield the samples of all patterns, those of one role below one heading."""
    by_title: dict[str, list[str]] = {}
    for pattern in rule.patterns:
        only = pattern.where == "exception" or bool(pattern.raised_in)
        title = _TITLES[pattern.role] + (", only in an exception" if only else "")
        by_title.setdefault(title, []).append(_format_samples(rule, pattern))
    for title, samples in by_title.items():
        yield f"### {title}"
        yield from samples


def _format_samples(rule: Rule, pattern: RulePattern) -> str:
    """Return sample lines that a pattern matches, and a similar line that it does not match."""
    samples = rule.samples[pattern.name]
    hits = format_list(format_code(line) for line in samples.hits[:3])
    near_miss = format_code(samples.near_misses[0])
    return f"{hits}\n\nNo match: {near_miss}"


def _exception_lines(rule: Rule) -> list[str]:
    """Return the exceptions that name the cause by their type, and by where they were raised."""
    lines = []
    if rule.exceptions:
        names = ", ".join(f"`{name}`" for name in rule.exceptions)
        lines.append(f"Exceptions with this cause, if their message matches no pattern: {names}.")
    names_by_place = sorted({name for one in rule.raised_in for name in one.exceptions})
    if rule.raised_in:
        names = ", ".join(f"`{name}`" for name in names_by_place)
        lines.append(f"Exceptions with this cause when they are raised at certain places: {names}.")
    return lines
