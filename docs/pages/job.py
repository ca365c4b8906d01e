"""Part of the verdict's page about the report of a job, made from its model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from gpualert_common.jobs.job_report import JobReport, JobState, NodePart, NodeState, NodeSummary
from gpualert_common.model import SCHEMA

_HEAD = """\
## The report of a job

`gpualert job JOB --json` prints this object; `gpualert jobs --json` prints a list of them under
`jobs`. Its JSON Schema is [job.schema.json](job.schema.json). All times are in seconds since the
epoch, corrected by the offset of the node's clock. Its `verdict` is a verdict as above, about the
whole job; `run_id` and `host` in it are those of the culprit. `job --json` adds `damaged_digests`,
the number of those that cannot be read.

Of `details`, these keys are there for every job: `nodes`, `failed_nodes`, `silent_nodes`,
`missing_nodes` (numbers), and `host`, `node` and `rank` of the culprit, null where no single one is
at fault. `silent_names`, `missing_names` and `culprits` name nodes in short form, such as
`gpu[001-748]`; `ranks` lists the ranks that the others waited for; `root_at` is the time of the
root cause. The other keys are those of the culprit's own verdict."""

_MEANINGS: Mapping[type, Mapping[str, str]] = {
    JobReport: {
        "schema": f"version of this object: {SCHEMA}",
        "job": "key of the job: its folder in the job directory",
        "name": "name of the job, for people",
        "state": "state of the job",
        "verdict": "the verdict of the whole job",
        "attempt": "number of the attempt, as the scheduler counts, from 1",
        "attempts": "number of attempts with digests",
        "nodes": "the nodes, the culprit first",
        "expected_nodes": "number of nodes that the job has, by its scheduler",
        "world_size": "number of ranks",
        "started_at": "start of the first run",
        "ended_at": "end of the last run; null while one is not over",
        "is_settled": "no digest that is still to come can be expected to change the cause",
        "due_at": "time from which that is so; 0 while nothing failed",
    },
    NodeSummary: {
        "host": "name of the node",
        "state": "state of the node",
        "part": "its part in the failure of the job",
        "node": "index of the node in the job",
        "ranks": "its ranks, such as `8-15`",
        "run_id": "the run of the node; of several, the one that failed first",
        "record_path": "record of that run, on the node",
        "cause": "cause of the end of that run",
        "disposition": "outcome of that run",
        "exit_code": "status of its command",
        "headline": "headline of its own verdict",
        "started_at": "start of the run",
        "failed_at": "time of its first failure, else of its end",
        "ended_at": "end of its runs",
        "heard_at": "time of its last sign of life",
        "position": "last step of the training",
        "pace_s": "time of one step in seconds",
        "gpu_percent": "mean load of its GPUs in the last minutes",
        "clock_offset_s": "seconds by which its clock is ahead",
    },
}
"""Meaning of each field, in the order of the page.  A test compares the names with the model."""

_VALUES: Mapping[type[StrEnum], Mapping[str, str]] = {
    JobState: {
        "running": "no node failed, and some run",
        "failing": "a node failed, and others still run",
        "ended": "no node runs any more",
    },
    NodeState: {
        "running": "it renews its digest",
        "ended": "its command has ended",
        "silent": "its digest is overdue, and has no end",
        "missing": "the job expects it, and it has no digest",
    },
    NodePart: {
        "culprit": "it has the root cause",
        "same": "it has the same cause, independently",
        "cascade": "it failed because another node did",
        "healthy": "it did not fail",
        "unknown": "its part is not known",
    },
}

_TITLES: Mapping[type, str] = {JobReport: "Fields of a job", NodeSummary: "A node: `nodes[]`"}


def format_job_report() -> Iterator[str]:
    """Yield the sections about the report of a job."""
    yield _HEAD
    definitions = _make_definitions()
    for kind, meanings in _MEANINGS.items():
        properties = definitions[kind.__name__]["properties"]
        yield f"### {_TITLES[kind]}"
        rows = (
            f"| `{name}` | {_describe_type(properties[name])} | {meaning} |"
            for name, meaning in meanings.items()
        )
        yield "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])
    for values_of, values in _VALUES.items():
        yield f"### {values_of.__name__}"
        rows = (f"| `{value}` | {meaning} |" for value, meaning in values.items())
        yield "\n".join(["| value | meaning |", "|---|---|", *rows])


def make_job_schema() -> str:
    """Return the JSON Schema of the report of a job; that of its verdict is a file of its own."""
    schema = msgspec.json.schema(JobReport)
    definitions = _make_definitions()
    names = [kind.__name__ for kind in (*_MEANINGS, *_VALUES)]
    kept = {name: definitions[name] for name in names}
    whole = kept["JobReport"]
    whole["properties"]["schema"]["const"] = SCHEMA
    whole["properties"]["verdict"] = {"$ref": "verdict.schema.json"}
    whole["required"] = list(whole["properties"])
    found = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Report of a job of GPUAlert",
        **schema,
        "$defs": kept,
    }
    return json.dumps(found, indent=2) + "\n"


def _make_definitions() -> dict[str, Any]:
    definitions: dict[str, Any] = msgspec.json.schema(JobReport)["$defs"]
    for kind, meanings in _MEANINGS.items():
        definition = definitions[kind.__name__]
        definition["description"] = (kind.__doc__ or "").partition("\n")[0]
        for name, meaning in meanings.items():
            definition["properties"][name]["description"] = meaning.replace("`", "")
    for values_of in _VALUES:
        definitions[values_of.__name__]["enum"] = [str(value) for value in values_of]
    return definitions


def _describe_type(schema: Mapping[str, Any]) -> str:
    """Return the type of a field in words."""
    if "anyOf" in schema:
        return " or ".join(map(_describe_type, schema["anyOf"]))
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        enums = {kind.__name__ for kind in _VALUES}
        return f"[{name.lower()}](#{name.lower()})" if name in enums else "object"
    names = {"string": "text", "boolean": "true or false", "array": "list of objects"}
    return names.get(schema["type"], str(schema["type"]))
