"""Starts a guardian and agrees with it on a run, so that neither launches anything alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from gpualert_common import errors
from gpualert_common.errors import GuardianError, NoDurableLogError
from gpualert_common.guardian import main
from gpualert_common.guardian.attempt import Attempt, fingerprint
from gpualert_common.guardian.follower import describe_follower
from gpualert_common.guardian.keys import Key
from gpualert_common.processes.bootstrap import import_path
from gpualert_common.processes.program import start_program
from gpualert_common.record import Record
from gpualert_common.spec import RunSpec
from gpualert_common.structs import Struct

_MOST_STDERR = 2000


class PendingLaunch(Struct, frozen=True):
    """A record whose guardian waits for :meth:`go`; ``tried`` are the places that had no room."""

    record: Record
    guardian_pid: int
    tried: list[tuple[str, str]]
    _process: subprocess.Popen[bytes]

    def go(self) -> None:
        """Let the guardian launch the child.  Raises GuardianError when the guardian has died."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(main.GO)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise GuardianError(
                "the guardian died before the launch; nothing was started"
            ) from None

    def close(self) -> None:
        """Close the guardian's pipes; without a :meth:`go` before, nothing is launched."""
        close_pipes(self._process)


def start(spec: RunSpec, attempt: Attempt | None, key: Key | None) -> PendingLaunch:
    """Start a guardian that prepares the run and waits for the word to launch it.

    Raises what the preparation raises, and GuardianError when no guardian could be started.
    """
    message = {
        "spec": resolve_spec(spec, attempt),
        "follower": describe_follower(),
        "sys_path": import_path(),
        "key_folder": key.path if key is not None else None,
        "lock_fd": key.fd if key is not None else -1,
    }
    try:
        guardian = start_program(
            main.__name__,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=() if key is None else (key.fd,),
        )
    except OSError as error:
        if error.errno is None:
            raise
        raise GuardianError(
            f"cannot start a guardian with {sys.executable}: {error.strerror}; nothing was launched"
        ) from None
    try:
        answer = _agree(guardian, message)
        record = Record.open(answer["run"])
    except BaseException:
        close_pipes(guardian)
        raise
    tried = [(place, problem) for place, problem in answer["tried"]]
    return PendingLaunch(record, answer["pid"], tried, guardian)


def resolve_spec(spec: RunSpec, attempt: Attempt | None) -> dict[str, Any]:
    """Return the fields of the spec, resolved for the guardian, which has another directory."""
    fields = {name: getattr(spec, name) for name in RunSpec.__slots__}
    fields["env"] = None if spec.env is None else dict(spec.env)
    if fields["cwd"] is None:
        try:
            fields["cwd"] = os.getcwd()
        except FileNotFoundError:
            pass  # it was deleted; "/" will do
    elif not os.path.isabs(fields["cwd"]):
        fields["cwd"] = os.path.abspath(fields["cwd"])
    if fields["state_dir"] is not None:
        fields["state_dir"] = os.path.abspath(os.path.expanduser(fields["state_dir"]))
    if attempt is not None:
        fields["custody"] = {
            "key": attempt.key,
            "owner": attempt.owner,
            "number": attempt.number,
            "fingerprint": attempt.fingerprint
            or fingerprint(spec.command, spec.env, fields["cwd"]),
            "lease_s": attempt.lease_s,
            "adopt_within_s": attempt.adopt_within_s,
            "across_hosts": attempt.across_hosts,
            "is_last": attempt.is_last,
            "told_as": attempt.shown_number,
            "training": attempt.training,
            "task": attempt.task,
        }
    fields["inherit"] = False
    return fields


def _agree(guardian: subprocess.Popen[bytes], message: dict[str, Any]) -> dict[str, Any]:
    assert guardian.stdin is not None
    assert guardian.stdout is not None
    try:
        guardian.stdin.write(json.dumps(message).encode() + b"\n")
        guardian.stdin.flush()
    except BrokenPipeError:
        pass  # it died; its stderr says why
    line = guardian.stdout.readline()
    guardian.wait()
    if not line.endswith(b"\n"):
        raise GuardianError(
            f"the guardian did not start, nothing was launched: {_stderr_end(guardian)}"
        )
    answer: dict[str, Any] = json.loads(line)
    if "error" not in answer:
        return answer
    if answer["error"] == NoDurableLogError.__name__:
        raise NoDurableLogError([(place, problem) for place, problem in answer["tried"]])
    kind = getattr(errors, answer["error"], GuardianError)
    raise kind(answer["text"])


def _stderr_end(guardian: subprocess.Popen[bytes]) -> str:
    """Return the end of a dead guardian's stderr."""
    assert guardian.stderr is not None
    text = guardian.stderr.read().decode("utf-8", "backslashreplace").strip()
    return text[-_MOST_STDERR:] or "no message on its stderr"


def close_pipes(guardian: subprocess.Popen[bytes]) -> None:
    """Close our ends of a guardian's pipes, and reap the process that forked it."""
    for stream in (guardian.stdin, guardian.stdout, guardian.stderr):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:
                pass
    guardian.wait()
