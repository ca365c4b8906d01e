#!/usr/bin/env python3
"""Generate the pages, and parts of pages, whose source is the code, the rules or the corpus.

``generate.py`` writes them. ``generate.py --check`` lists the stale ones and exits with 1.

| page | source |
|---|---|
| docs/rooms.md | tests/structure/floors.py, docstrings of the rooms |
| docs/accuracy.md, its summary in README.md | corpus/results.json, first_contact.jsonl |
| docs/performance.md | tests/benchmarks/kept.json |
| docs/rules.md, docs/causes/ | rules/*.toml |
| docs/redaction.md | rules/secrets/*.toml |
| docs/channels.md, docs/evidence.md, docs/warnings.md | docstrings and settings of the plugins |
| docs/configuration.md, options in docs/airflow.md, docs/prefect.md | declarations of the options |
| docs/verdict.md, docs/verdict.schema.json | gpualert_common/model.py |
| docs/job.schema.json, its part of docs/verdict.md | gpualert_common/jobs/job_report.py |
| docs/python-api.md | signatures and docstrings |
| docs/metrics.md, tables | gpualert_common/exporter/*_metrics.py |
| docs/cli.md, docs/gpualert.1 | ``gpualert COMMAND --help`` |
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.pages.accuracy import make_accuracy_page, update_readme
from docs.pages.channels import make_channels_page
from docs.pages.cli import make_cli_page
from docs.pages.configuration import format_options, make_configuration_page
from docs.pages.evidence import make_evidence_page
from docs.pages.job import make_job_schema
from docs.pages.man import make_man_page
from docs.pages.markdown import ROOT, replace_block
from docs.pages.metrics import format_metrics
from docs.pages.performance import make_performance_page
from docs.pages.python_api import make_python_api_page
from docs.pages.redaction import make_redaction_page
from docs.pages.rooms import make_rooms_page
from docs.pages.rules import make_cause_page, make_rules_page
from docs.pages.verdict import make_verdict_page, make_verdict_schema
from docs.pages.warnings import make_warnings_page
from gpualert_common.classify.rule_reader import load_rules
from gpualert_common.settings import Interface

DOCS = ROOT / "docs"
CAUSES = DOCS / "causes"
README = ROOT / "README.md"
METRICS = DOCS / "metrics.md"

ENGINE_PAGES = {"airflow.md": Interface.AIRFLOW, "prefect.md": Interface.PREFECT}


def make_pages() -> dict[Path, str]:
    """Return the content of each generated page, by its path."""
    rules = load_rules(ROOT / "rules", samples=True).rules
    return {
        README: update_readme(README.read_text()),
        DOCS / "rooms.md": make_rooms_page(),
        DOCS / "rules.md": make_rules_page(rules),
        **{CAUSES / f"{rule.id}.md": make_cause_page(rule) for rule in rules},
        DOCS / "redaction.md": make_redaction_page(),
        DOCS / "channels.md": make_channels_page(),
        DOCS / "evidence.md": make_evidence_page(),
        DOCS / "warnings.md": make_warnings_page(),
        DOCS / "cli.md": make_cli_page(),
        DOCS / "gpualert.1": make_man_page(),
        DOCS / "configuration.md": make_configuration_page(),
        **{
            DOCS / page: _insert_options(DOCS / page, interface)
            for page, interface in ENGINE_PAGES.items()
        },
        DOCS / "accuracy.md": make_accuracy_page(),
        METRICS: replace_block(METRICS.read_text(), "metrics", format_metrics()),
        DOCS / "performance.md": make_performance_page(),
        DOCS / "verdict.md": make_verdict_page(),
        DOCS / "verdict.schema.json": make_verdict_schema(),
        DOCS / "job.schema.json": make_job_schema(),
        DOCS / "python-api.md": make_python_api_page(),
    }


def _insert_options(page: Path, interface: str) -> str:
    return replace_block(page.read_text(), "options", format_options(interface))


def list_stale(pages: dict[Path, str]) -> list[Path]:
    """Return the pages whose file is missing or has other content."""
    return [path for path, text in pages.items() if not path.exists() or path.read_text() != text]


def main() -> int:
    """Write the stale pages, or list them."""
    parser = argparse.ArgumentParser(description="Generate pages from code, rules and corpus.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    options = parser.parse_args()
    pages = make_pages()
    for path in sorted(set(CAUSES.glob("*.md")) - pages.keys()):
        if options.check:
            sys.exit(f"{path.relative_to(ROOT)} belongs to no rule; run: make docs")
        path.unlink()
    stale = list_stale(pages)
    for path in stale:
        name = path.relative_to(ROOT)
        if options.check:
            print(f"{name} is stale; run: make docs", file=sys.stderr)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(pages[path])
            print(f"{name} written")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
