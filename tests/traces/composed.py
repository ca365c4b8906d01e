"""Composer of traces in the format of Kineto, for GPUs that this machine has not.

Times are in microseconds from the start of the trace.  The layout, the order of the fields and the
arguments are those of ``libkineto/src/output_json.cpp``.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

BASE_NS = 1_790_857_026_000_000_000
START_US = 5_071_780_000_000.0
"""Time of the first event from the base: PyTorch counts from a date some months back."""


class ComposedTrace:
    """The trace of one rank; each method adds one event."""

    def __init__(
        self,
        rank: int = 0,
        world_size: int = 1,
        *,
        pid: int = 0,
        gpu: int = 0,
        base_ns: int = BASE_NS,
        start_us: float = START_US,
    ) -> None:
        self.rank = rank
        self.pid = pid or 4000 + rank
        self.gpu = gpu
        self.base_ns = base_ns
        self._start_us = start_us
        self._correlation = 0
        self.events: list[dict[str, Any]] = []
        self.head: dict[str, Any] = {
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world_size}
        }
        self._name_process(self.pid, "CPU")
        self._name_process(gpu, f"GPU {gpu}")

    def cpu_op(self, name: str, at: float, us: float, tid: int = 0, **args: Any) -> None:
        """Add an operator on a thread of the CPU."""
        self._add("cpu_op", name, self.pid, tid or self.pid, at, us, args)

    def annotation(self, name: str, at: float, us: float, tid: int = 0, **args: Any) -> None:
        """Add a ``record_function`` of the program or of PyTorch."""
        self._add("user_annotation", name, self.pid, tid or self.pid, at, us, args)

    def python(self, name: str, at: float, us: float, tid: int = 0) -> None:
        """Add a call of a Python function."""
        self._add("python_function", name, self.pid, tid or self.pid, at, us, {"Python id": 1})

    def runtime(self, name: str, at: float, us: float, correlation: int = 0) -> None:
        """Add a call of the CUDA runtime."""
        args = {"cbid": 211, "correlation": correlation}
        self._add("cuda_runtime", name, self.pid, self.pid, at, us, args)

    def kernel(
        self,
        name: str,
        at: float,
        us: float,
        *,
        launched: float | None = None,
        stream: int = 7,
        cat: str = "kernel",
        call: str = "cudaLaunchKernel",
        **args: Any,
    ) -> None:
        """Add work on the GPU, with the call of 2 us that launched it, and their flow."""
        self._correlation += 1
        number = self._correlation
        if launched is not None:
            self.runtime(call, launched, 2.0, number)
            self._flow("s", self.pid, self.pid, launched, number)
        fields = {"device": self.gpu, "stream": stream, "correlation": number, **args}
        self._add(cat, name, self.gpu, stream, at, us, fields)
        if launched is not None:
            self._flow("f", self.gpu, stream, at, number)

    def write(self, path: Path) -> Path:
        """Write the file, compressed where its name ends with ``.gz``."""
        text = self.format()
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
        return path

    def format(self) -> str:
        """Return the text of the file."""
        head: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [], **self.head}
        if self.base_ns:
            head |= {"displayTimeUnit": "ms", "baseTimeNanoseconds": self.base_ns}
        events = ",\n  ".join(json.dumps(one) for one in self.events)
        body = f'"traceEvents": [\n  {events}\n  ],\n  "traceName": "trace.json"}}'
        return f"{json.dumps(head)[:-1]}, {body}"

    def _add(
        self, cat: str, name: str, pid: int, tid: int, at: float, us: float, args: dict[str, Any]
    ) -> None:
        place = {"pid": pid, "tid": tid, "ts": self._start_us + at, "dur": us}
        self.events.append({"ph": "X", "cat": cat, "name": name, **place, "args": args})

    def _flow(self, phase: str, pid: int, tid: int, at: float, number: int) -> None:
        place = {"pid": pid, "tid": tid, "ts": self._start_us + at}
        event = {"ph": phase, "id": number, **place, "cat": "ac2g", "name": "ac2g"}
        self.events.append(event | ({"bp": "e"} if phase == "f" else {}))

    def _name_process(self, pid: int, labels: str) -> None:
        for name, args in (
            ("process_name", {"name": "python"}),
            ("process_labels", {"labels": labels}),
            ("process_sort_index", {"sort_index": pid}),
        ):
            place = {"ts": self._start_us, "pid": pid, "tid": 0}
            self.events.append({"name": name, "ph": "M", **place, "args": args})
