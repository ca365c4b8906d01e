"""The floors of the core: which rooms may import which."""

from __future__ import annotations

import ast

from tests.structure.source import ROOT

FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"structs"}),
    frozenset(
        {
            "_version",
            "causes",
            "errors",
            "log_files",
            "median",
            "printable_text",
            "quantities",
            "signal_names",
            "shells",
            "store_addresses",
            "suggestions",
            "whole_words",
        }
    ),
    frozenset({"end_record", "launch_record"}),
    frozenset({"spec", "toml_text", "trusted_files"}),
    frozenset(
        {"codec", "command_options", "model", "plugins", "regex", "slurm_place", "toml_table"}
    ),
    frozenset({"job_identity", "rule_files", "stop_origin"}),
    frozenset({"processes", "redact", "traces"}),
    frozenset({"classify", "job_store", "record", "settings"}),
    frozenset({"collectives", "coordinator", "kineto", "moments", "slurm", "stacks"}),
    frozenset({"profiles", "progress", "record_locations", "telemetry"}),
    frozenset({"history", "launch", "run_progress", "slurm_evidence"}),
    frozenset({"artifacts", "diagnose", "report", "retries", "supervise", "suspicion"}),
    frozenset({"charts", "listing", "live_facts", "run_evidence"}),
    frozenset({"jobs"}),
    frozenset({"pages"}),
    frozenset({"classifier", "notify"}),
    frozenset({"abandoned_runs"}),
    frozenset({"run_hooks"}),
    frozenset({"api", "external_run", "recover"}),
    frozenset({"live_tree"}),
    frozenset(
        {
            "background_recovery",
            "current_condition",
            "current_verdict",
            "guardian",
            "late_verdict",
            "profile_request",
            "removal",
            "stack_request",
            "stop_request",
            "trace_request",
        }
    ),
    frozenset(
        {
            *("agent", "batch_runs", "current_runs", "run_report", "slowdown_capture"),
            "slurm_watch",
        }
    ),
    frozenset({"exporter", "web"}),
    frozenset({"cli"}),
    frozenset({"__init__", "__main__"}),
)
"""Every room of the core, from the lowest floor to the top; rooms of one floor are independent."""

FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def describe_room(room: str) -> str:
    """Return the first line of a room's docstring, without the full stop."""
    path = ROOT / "gpualert_common" / room
    module = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    summary = (ast.get_docstring(ast.parse(module.read_text())) or "").split("\n")[0]
    return summary.rstrip(".")


def format_floors() -> str:
    """Return the floors as a Markdown table, the top floor first."""
    lines = ["| floor | room | what it holds |", "|---:|---|---|"]
    for floor in range(len(FLOORS) - 1, -1, -1):
        for room in sorted(FLOORS[floor] - {"__init__", "__main__", "_version"}):
            folder = (ROOT / "gpualert_common" / room).is_dir()
            name = f"{room}/" if folder else f"{room}.py"
            lines.append(f"| {floor + 1} | `{name}` | {describe_room(room)} |")
    return "\n".join(lines)
