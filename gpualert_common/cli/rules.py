"""``gpualert rules``: what causes are known, by which patterns, and whether they hold."""

from __future__ import annotations

import argparse
import json

from gpualert_common.classify import check_rules, load_rules


def rules(options: argparse.Namespace) -> int:
    """List, show or check; 1 when a check found problems."""
    if options.rules_action == "check":
        return _check(options)
    known = load_rules(options.rules_dir)
    if options.rules_action == "list":
        rows = [
            {"id": rule.id, "order": rule.order, "patterns": len(rule.patterns)} for rule in known
        ]
        if options.json:
            print(json.dumps({"schema": 1, "rules": rows}))
        for row in () if options.json else rows:
            print(f"{row['order']:5} {row['id']:20} {row['patterns']} patterns")
        return 0
    return 0


def _check(options: argparse.Namespace) -> int:
    problems = check_rules(options.rules_dir)
    if options.json:
        print(json.dumps({"schema": 1, "problems": [str(problem) for problem in problems]}))
    else:
        for problem in problems:
            print(problem)
        print(f"{len(problems)} problems" if problems else "rules are in order")
    return 1 if problems else 0
