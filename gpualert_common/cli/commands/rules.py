"""List, show or check the rules for causes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from gpualert_common.classify import Rule, RuleSet, load_rules
from gpualert_common.classify.rule_checks import check_rules
from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_options
from gpualert_common.diagnose.rule_text import show_template
from gpualert_common.errors import RuleError, UsageError
from gpualert_common.redact.secret_checks import check_secrets
from gpualert_common.report.wording import describe_family
from gpualert_common.settings import load_settings
from gpualert_common.structs import to_builtins
from gpualert_common.suggestions import suggest_or_list


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions ``list``, ``show`` and ``check``."""
    actions = parser.add_subparsers(dest="rules_action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the rules in their order")
    show = actions.add_parser("show", help="show one rule")
    show.add_argument("rule", metavar="ID", help="the id of the rule: a cause")
    check = actions.add_parser(
        "check",
        help="check rule files and their samples",
        description="Check your own rule files or, without any, the shipped ones. Each problem "
        "names its file and key. Every pattern must match its samples, alone and after the "
        "prefixes of launchers, and no near miss.",
    )
    check.add_argument("files", nargs="*", metavar="FILE", help="a rule file, or a directory")
    for action in (listing, show):
        add_options(action, "rules")
    for action in (listing, show, check):
        add_json(action)


def execute(options: argparse.Namespace) -> int:
    """List, show or check; 1 if a check found problems."""
    if options.rules_action == "check":
        return _check(options)
    known = load_rules(own=load_settings({"rules": options.rules})["rules"].value)
    if options.rules_action == "list":
        return _list(options, known)
    found = [rule for rule in known if rule.id == options.rule]
    if not found:
        raise UsageError(f"no rule {options.rule!r}{suggest_or_list(options.rule, known.by_cause)}")
    if options.json:
        printing.print_json({"schema": 1, "rules": [_in_full(rule) for rule in found]})
        return 0
    for rule in found:
        _show(rule)
    return 0


_SCOPES = {
    "anywhere": "",
    "exception": " (in exceptions)",
    "message": " (in exceptions that nothing else explains)",
    "wording": " (where nothing else names a cause)",
    "topic": " (two different words, where no wording names a cause)",
}

_FORMATS: dict[str, Callable[[str], str]] = {
    "family": lambda family: describe_family(family or ""),
    **dict.fromkeys(("headline", "implies", "cannot_decide", "do"), show_template),
}
"""Fields of a rule that people are shown in other words."""


def _list(options: argparse.Namespace, known: RuleSet) -> int:
    if options.json:
        printing.print_json({"schema": 1, "rules": [_facts(rule) for rule in known]})
    for rule in () if options.json else known:
        mine = f"  {rule.file} (yours)" if rule.is_own else ""
        printing.print_lines(f"{rule.order:5} {rule.id:20} {len(rule.patterns):3} patterns{mine}")
    return 0


def _in_full(rule: Rule) -> dict[str, Any]:
    patterns = [
        {"name": one.name, "role": one.role, "where": one.where, "re": one.re}
        for one in rule.patterns
    ]
    raised_in = [to_builtins(one) for one in rule.raised_in]
    words = rule.words
    return {
        **_facts(rule),
        "headline": words.headline,
        "implies": words.implies,
        "cannot_decide": words.cannot_decide,
        "do": words.do,
        "exceptions": rule.exceptions,
        "raised_in": raised_in,
        "patterns_in_full": patterns,
    }


def _show(rule: Rule) -> None:
    fields = _in_full(rule)
    patterns, raised_in = fields.pop("patterns_in_full"), fields.pop("raised_in")
    for name, value in fields.items():
        for text in value if isinstance(value, list | tuple) else [value]:
            printing.print_lines(f"{name:14} {_FORMATS.get(name, str)(text)}")
    for one in raised_in:
        parts = [one[key] for key in ("file", "source") if one[key] is not None]
        printing.print_lines(f"{'raised in':14} {', '.join(one['exceptions'])}: {'; '.join(parts)}")
    for pattern in patterns:
        where = _SCOPES[pattern["where"]]
        printing.print_lines(f"{pattern['role']:14} {pattern['name']}{where}: {pattern['re']}")


def _facts(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "order": rule.order,
        "family": rule.family,
        "fault_class": rule.fault_class,
        "attribution": rule.attribution,
        "retry": rule.retry,
        "patterns": len(rule.patterns),
        "since": rule.since,
        "file": rule.file,
        "sources": list(rule.sources),
    }


def _check(options: argparse.Namespace) -> int:
    problems: list[RuleError] = []
    for file in options.files:
        problems += check_rules(own=file)
    if not options.files:
        problems = [*check_rules(), *check_secrets()]
    if options.json:
        printing.print_json({"schema": 1, "problems": [str(problem) for problem in problems]})
    else:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        summary = count if problems else "rules are in order"
        printing.print_lines(*map(str, problems), summary)
    return 1 if problems else 0
