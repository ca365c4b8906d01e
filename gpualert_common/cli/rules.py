"""``gpualert rules``: what causes are known, by which patterns, and whether they hold."""

from __future__ import annotations

import argparse
import json
from typing import Any

from gpualert_common.classify import Rule, RuleSet, check_rules, load_rules
from gpualert_common.errors import UsageError
from gpualert_common.redact.check import check_secrets


def rules(options: argparse.Namespace) -> int:
    """List, show or check; 1 when a check found problems."""
    if options.rules_action == "check":
        return _check(options)
    known = load_rules(options.rules_dir)
    if options.rules_action == "list":
        return _list(options, known)
    rule = known.by_cause.get(options.rule)
    if rule is None:
        raise UsageError(f"no rule {options.rule!r}; known are {', '.join(known.by_cause)}")
    return _show(options, rule)


def _list(options: argparse.Namespace, known: RuleSet) -> int:
    if options.json:
        print(json.dumps({"schema": 1, "rules": [_facts(rule) for rule in known]}))
    for rule in () if options.json else known:
        print(f"{rule.order:5} {rule.id:20} {len(rule.patterns):3} patterns")
    return 0


def _show(options: argparse.Namespace, rule: Rule) -> int:
    facts = _facts(rule)
    words = rule.words
    told = {"headline": words.headline, "implies": words.implies}
    told |= {"cannot_decide": words.cannot_decide, "do": words.do}
    patterns = [
        {"name": pattern.name, "role": pattern.role, "re": pattern.re} for pattern in rule.patterns
    ]
    if options.json:
        print(json.dumps({"schema": 1, **facts, **told, "patterns_in_full": patterns}))
        return 0
    for name, value in facts.items():
        print(f"{name:14} {value}")
    for name, texts in told.items():
        for text in texts:
            print(f"{name:14} {text}")
    for pattern in patterns:
        print(f"{pattern['role']:14} {pattern['name']}: {pattern['re']}")
    return 0


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
    problems = [*check_rules(options.rules_dir), *check_secrets(options.rules_dir)]
    if options.json:
        print(json.dumps({"schema": 1, "problems": [str(problem) for problem in problems]}))
    else:
        for problem in problems:
            print(problem)
        print(f"{len(problems)} problems" if problems else "rules are in order")
    return 1 if problems else 0
