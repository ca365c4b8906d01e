"""A source in a process of its own, that looks when a test tells it to."""

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

def say(what):
    print(json.dumps(what), flush=True)

def shown(one):
    if isinstance(one, SourceEvent):
        return ["event", one.what, one.of, one.text, dict(one.fields), one.at]
    return ["sample", one.of, dict(one.values)]

try:
    source = load_source_class(sys.argv[1])(None)
except SourceUnavailableError as error:
    say({"unavailable": [error.why, error.remedy]})
    sys.exit()
say({"facts": source.facts})
for line in sys.stdin:
    command = line.strip()
    if command == "look":
        say([shown(one) for one in source.sample()])
    elif command == "close":
        source.close()
        say("closed")
    elif command == "cpu":
        say(time.process_time())
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look told: samples by what they are of, and events in their order."""

    samples: dict[str, dict[str, float]]
    events: list[dict[str, Any]]

    def told(self, what: str) -> list[dict[str, Any]]:
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
            opened = self._hear()
        except AssertionError:
            self.kill()
            raise
        self.facts: dict[str, Any] = opened.get("facts", {})
        self.unavailable: list[str] = opened.get("unavailable", [])
        """Why it cannot be had, and what would help; empty where it can."""

    def sample(self) -> Seen:
        """Have it look."""
        samples, events = {}, []
        for kind, *told in self._ask("look"):
            if kind == "sample":
                of, values = told
                assert of not in samples
                samples[of] = values
            else:
                events.append(dict(zip(("what", "of", "text", "fields", "at"), told, strict=True)))
        return Seen(samples, events)

    def close(self) -> None:
        """Have it close the source."""
        assert self._ask("close") == "closed"

    def cpu_s(self) -> float:
        """Seconds of a processor that it has used so far."""
        return float(self._ask("cpu"))

    def end(self) -> int:
        """Let the process end; its exit status."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        return self._child.wait(DEADLINE_S)

    def kill(self) -> None:
        """End the process in any case."""
        self._child.kill()
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            assert stream is not None
            stream.close()
        self._child.wait(DEADLINE_S)

    def _ask(self, command: str) -> Any:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{command}\n")
        self._child.stdin.flush()
        return self._hear()

    def _hear(self) -> Any:
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        watchdog = threading.Timer(DEADLINE_S, self._child.kill)
        watchdog.start()
        line = self._child.stdout.readline()
        watchdog.cancel()
        assert line, f"it ended, or was killed after {DEADLINE_S:g} s: {self._child.stderr.read()}"
        return json.loads(line)
