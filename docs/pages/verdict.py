"""Page of the verdict: each of its fields, and its JSON Schema, made from the model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from docs.pages.job import format_job_report
from docs.pages.markdown import join_parts
from gpualert_common.model import (
    SCHEMA,
    Attribution,
    Claim,
    Disposition,
    LogLocation,
    Retry,
    RuledOutFamily,
    SecondaryCause,
    SourceStatus,
    Verdict,
    VerdictWarning,
)

HEAD = """\
# The verdict as data

Made from `gpualert_common/model.py` by `make docs`; do not edit.

`verdict.json` of a [record](record.md), `gpualert show --json`, `gpualert classify --json`,
Airflow's XCom and Prefect's result carry the same object. Its JSON Schema (draft 2020-12) is
[verdict.schema.json](verdict.schema.json).

```sh
gpualert show last --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["cause"])'
```

All fields of the verdict are always present. In the objects inside it, a field that is null is left
out. A number that is not finite is the text `nan`, `inf` or `-inf`. Newer versions may add fields,
and values to the lists below, under the same `schema`: a program should ignore fields that it does
not know. A field is never renamed or given another meaning without a new `schema`.
"""

_MEANINGS: Mapping[type, Mapping[str, str]] = {
    Verdict: {
        "schema": f"version of this object: {SCHEMA}",
        "headline": "one sentence: what happened",
        "cause": "one of the [causes](rules.md); `none` if no failure was found, `unknown` if the "
        "outcome is not known",
        "disposition": "outcome of the run, without its cause",
        "attribution": "part that is at fault",
        "retry": "whether a retry can help, and where",
        "confidence": "probability that the cause is right, 0 to 1, "
        "[calibrated](accuracy.md) on the corpus",
        "exit_code": "status of the command; -n if signal n ended it; null if it is not known",
        "signal": "name of the signal that ended the command, such as `SIGKILL`",
        "run_id": "the run; null for a log without a run",
        "attempt": "number of the attempt at the task, from 1",
        "host": "machine of the run",
        "log_path": "the log that the evidence cites, else the one with the end of the output",
        "family": "family of failures, `A1` to `G1`",
        "fault_class": "refinement of the family",
        "paper_class": "label of the 15 classes of the paper, for comparison",
        "details": "figures and names that belong to the cause; the keys depend on it",
        "shows": "the evidence: what was read, and where",
        "implies": "what follows from the evidence",
        "cannot_decide": "questions that the evidence leaves open",
        "do": "what to do, in this order",
        "ruled_out": "families that the evidence speaks against",
        "secondary": "further causes that the evidence shows",
        "warnings": "remarks about the run, and about the verdict itself",
        "sources": "each evidence source: available or not",
        "measured": "resources and progress of the run as numbers",
        "message_id": "Message-ID of the alert about the run; null for a log without a run",
    },
    Claim: {
        "claim": "what the evidence shows",
        "source": "evidence source, such as `log`",
        "where": "place in a log",
        "excerpt": "text that was read there",
        "rank": "rank of the process that it concerns",
    },
    LogLocation: {
        "file": "name of the log",
        "line": "line, from 1; null behind a part that was not read",
        "offset": "byte offset of the first byte of the line",
    },
    RuledOutFamily: {"family": "family of failures", "because": "evidence against it"},
    SecondaryCause: {"cause": "the cause", "because": "why it is not the root cause"},
    VerdictWarning: {"kind": "kind of the remark, for programs", "text": "the remark, for people"},
    SourceStatus: {
        "name": "evidence source, or a log",
        "available": "whether it could be read",
        "why": "reason why not",
        "remedy": "what makes it available",
        "file": "of a log: its file",
        "bytes_read": "of a log: number of bytes that were read",
        "unscanned": "of a log: spans of bytes that were not read",
    },
}
"""Meaning of each field, in the order of the page.  A test compares the names with the model."""

_VALUES: Mapping[type[StrEnum], Mapping[str, str]] = {
    Disposition: {
        "completed": "it ended by itself with status 0",
        "failed": "it ended by itself with another status",
        "killed": "a signal ended it that GPUAlert did not send or forward",
        "timeout": "it was stopped at its time limit",
        "cancelled": "a person or a program stopped it",
        "preempted": "a scheduler took the machine back",
        "not_started": "the command could not be executed",
        "running": "it has not ended",
        "unknown": "its end was not seen",
    },
    Attribution: {
        "job": "the command, its code, data or settings",
        "infrastructure": "the machine, its GPUs, disks or network",
        "scheduler": "a limit or decision of a scheduler",
        "external": "a service or a process outside the job",
        "unknown": "the evidence does not decide it",
        "none": "nothing failed",
    },
    Retry: {
        "same": "a retry may succeed anywhere",
        "elsewhere": "a retry may succeed on another machine",
        "after_fix": "a retry fails again until something is changed",
        "no": "a retry does not help, or is not needed",
    },
}

_TITLES: Mapping[type, str] = {
    Verdict: "Fields",
    Claim: "A claim: `shows[]`",
    LogLocation: "A place in a log: `shows[].where`",
    RuledOutFamily: "A family that is ruled out: `ruled_out[]`",
    SecondaryCause: "A further cause: `secondary[]`",
    VerdictWarning: "A remark: `warnings[]`",
    SourceStatus: "An evidence source: `sources[]`",
}


def make_verdict_page() -> str:
    """Return the page of the fields of a verdict."""
    definitions = _make_schema()["$defs"]
    parts = [HEAD]
    for kind, meanings in _MEANINGS.items():
        properties = definitions[kind.__name__]["properties"]
        rows = (
            f"| `{name}` | {_describe_type(properties[name])} | {meaning} |"
            for name, meaning in meanings.items()
        )
        table = "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])
        parts += [f"## {_TITLES[kind]}", table]
        if kind is Verdict:
            parts += _value_sections()
    return join_parts([*parts, *format_job_report()])


def make_verdict_schema() -> str:
    """Return the JSON Schema of a verdict, with the meaning of each field."""
    return json.dumps(_make_schema(), indent=2) + "\n"


def _make_schema() -> dict[str, Any]:
    schema = msgspec.json.schema(Verdict)
    definitions = schema["$defs"]
    for kind, meanings in _MEANINGS.items():
        definition = definitions[kind.__name__]
        definition["description"] = (kind.__doc__ or "").partition("\n")[0]
        for name, meaning in meanings.items():
            definition["properties"][name]["description"] = _without_markup(meaning)
    for values in _VALUES:
        definitions[values.__name__]["enum"] = [str(value) for value in values]
    whole = definitions["Verdict"]
    whole["properties"]["schema"]["const"] = SCHEMA
    whole["required"] = list(whole["properties"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Verdict of GPUAlert",
        **schema,
    }


def _without_markup(text: str) -> str:
    """Return a meaning without links and marks of code."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


def _describe_type(schema: Mapping[str, Any]) -> str:
    """Return the type of a field in words."""
    if "anyOf" in schema:
        return " or ".join(_describe_type(one) for one in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        enums = {kind.__name__ for kind in _VALUES}
        return f"[{name.lower()}](#{name.lower()})" if name in enums else "object"
    if schema["type"] == "array":
        inner = schema["items"]
        return (
            "list of spans" if inner.get("type") == "array" else f"list of {_describe_type(inner)}s"
        )
    names = {"string": "text", "integer": "integer", "boolean": "true or false"}
    return names.get(schema["type"], str(schema["type"]))


def _value_sections() -> Iterator[str]:
    for kind, values in _VALUES.items():
        yield f"### {kind.__name__}"
        rows = (f"| `{value}` | {meaning} |" for value, meaning in values.items())
        yield "\n".join(["| value | meaning |", "|---|---|", *rows])
