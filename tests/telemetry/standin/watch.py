"""A source in a separate process, which takes a sample when a test asks for one."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.supervised import DEADLINE_S, python

_PROGRAM = """
import json, sys, time
from gpualert_common.telemetry.source import SourceEvent, SourceUnavailableError, load_source_class

def send(what):
    print(json.dumps(what), flush=True)

def encode(one):
    if isinstance(one, SourceEvent):
        return ["event", one.what, one.of, one.text, dict(one.fields), one.at]
    return ["sample", one.of, dict(one.values)]

try:
    source = load_source_class(sys.argv[1])(None)
except SourceUnavailableError as error:
    send({"unavailable": [error.why, error.remedy]})
    sys.exit()
send({"facts": source.facts})
for line in sys.stdin:
    command = line.strip()
    if command == "sample":
        send([encode(one) for one in source.sample()])
    elif command == "close":
        source.close()
        send("closed")
    elif command == "cpu":
        send(time.process_time())
"""


@dataclass(frozen=True, slots=True)
class WatchOutput:
    """Output of one sample: values by their entity, and events in their order."""

    samples: dict[str, dict[str, float]]
    events: list[dict[str, Any]]

    def of_kind(self, what: str) -> list[dict[str, Any]]:
        """The events of a kind."""
        return [event for event in self.events if event["what"] == what]


class Watch:
    """A child process with a source open; ``before`` is Python that it runs first."""

    def __init__(self, source: str, variables: Mapping[str, str], before: str = "") -> None:
        self._child = subprocess.Popen(
            [*python(f"{before}\n{_PROGRAM}"), source],
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            opened = self._read()
        except AssertionError:
            self.kill()
            raise
        self.facts: dict[str, Any] = opened.get("facts", {})
        self.unavailable: list[str] = opened.get("unavailable", [])
        """Reason and remedy of an unavailable source; empty if it is available."""

    def sample(self) -> WatchOutput:
        """Take one sample."""
        samples, events = {}, []
        for kind, *content in self._ask("sample"):
            if kind == "sample":
                of, values = content
                assert of not in samples
                samples[of] = values
            else:
                keys = ("what", "of", "text", "fields", "at")
                events.append(dict(zip(keys, content, strict=True)))
        return WatchOutput(samples, events)

    def close(self) -> None:
        """Close the source."""
        assert self._ask("close") == "closed"

    def cpu_s(self) -> float:
        """Processor time used so far, in seconds."""
        return float(self._ask("cpu"))

    def end(self) -> int:
        """Let the process exit; return its exit status."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        return self._child.wait(DEADLINE_S)

    def kill(self) -> None:
        """Kill the process."""
        self._child.kill()
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            assert stream is not None
            stream.close()
        self._child.wait(DEADLINE_S)

    def _ask(self, command: str) -> Any:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{command}\n")
        self._child.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        watchdog = threading.Timer(DEADLINE_S, self._child.kill)
        watchdog.start()
        line = self._child.stdout.readline()
        watchdog.cancel()
        errors = "" if line else self._child.stderr.read()
        assert line, f"it exited, or was killed after {DEADLINE_S:g} s: {errors}"
        return json.loads(line)
