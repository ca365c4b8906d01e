"""Supervision of a run, from its spec to its end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from gpualert_common.errors import GPUAlertError, UsageError
from gpualert_common.launch import libc, log_pipe, spawn
from gpualert_common.launch.preparation import PreparedRun, prepare_run
from gpualert_common.launch.signals import Inbox
from gpualert_common.printable_text import format_messages
from gpualert_common.processes.children import list_children, reap
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.record import Record
from gpualert_common.spec import Ending, RunSpec
from gpualert_common.supervise.recorder import Recorder
from gpualert_common.supervise.recorder_messages import end_message
from gpualert_common.supervise.recorder_process import RecorderProcess
from gpualert_common.supervise.stop import Stop
from gpualert_common.supervise.supervisor import MAX_INTERRUPTIONS, Supervisor
from gpualert_common.whole_words import cut_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.supervise.ownership_policy import OwnershipPolicy
    from gpualert_common.supervise.recorder_hooks import RecorderHooks

__all__ = ["SupervisedRun", "supervise"]


class SupervisedRun:
    """A run that has ended: its record, how it ended, and the verdict if it came in time.

    ``sender`` is as :meth:`RecorderHooks.needed_sender` returned it; empty with ``is_late``, which
    says that the recorder still works on the record, or died after it had stored the ending.
    """

    __slots__ = ("ending", "is_late", "record", "sender", "verdict")

    def __init__(self, record: Record, ending: Ending, recorder: RecorderProcess) -> None:
        self.record = record
        self.ending = ending
        self.verdict = recorder.verdict
        self.sender = recorder.sender
        self.is_late = recorder.is_late


def supervise(
    spec: RunSpec,
    hooks: Callable[[PreparedRun], RecorderHooks],
    *,
    own_process: bool,
    before_launch: Callable[[PreparedRun], None] = lambda _prepared: None,
    policy: OwnershipPolicy | None = None,
) -> SupervisedRun:
    """Run ``spec`` to its end and return how it ended.

    ``own_process`` says that this process exists for the run (the CLI, a guardian): it then takes
    signals, adopts orphans and runs its recorder in a process of its own.  Otherwise nothing of the
    calling process is changed.  ``before_launch`` is called when the record is ready; an exception
    from it discards the record.  ``policy`` decides what becomes of a run without a follower.

    Raises UsageError and NoDurableLogError before launch, when nothing has been started; after
    launch only exceptions that the caller's own threads or signals raise in here.
    """
    spawn.check_spec(spec)
    inbox = None
    if own_process:
        inbox = Inbox()
        inbox.install()
    prepared = prepare_run(spec)
    record = prepared.record
    try:
        before_launch(prepared)
    except BaseException:
        prepared.close()
        record.discard()
        raise
    recorder = RecorderProcess(
        lambda link: Recorder(
            record,
            prepared.launch_record,
            prepared.logs,
            hooks(prepared),
            link,
            is_thread=not own_process,
            reports_leases=policy is not None,
        ),
        in_process=not own_process,
        after_fork=lambda: inbox.ignore_in_recorder() if inbox is not None else None,
    )
    try:
        ending = _launch(spec, prepared, recorder, inbox, policy)
    except GPUAlertError:
        raise  # nothing was launched
    except BaseException as error:
        _stop_unsupervised(record, recorder, error)
        raise
    finally:
        if prepared.tracing is not None:
            prepared.tracing.close()  # where nothing was launched, it ends
        recorder.close()
        record.release_own_lock()
    return SupervisedRun(record, ending, recorder)


def _launch(
    spec: RunSpec,
    prepared: PreparedRun,
    recorder: RecorderProcess,
    inbox: Inbox | None,
    policy: OwnershipPolicy | None,
) -> Ending:
    record = prepared.record
    env = spawn.make_environment(spec, record.run_id)
    if spec.tracing:
        from gpualert_common.kineto.daemon_launch import start_tracing  # most runs have none

        prepared.tracing = start_tracing(record, env)
    copiers: list[int] = []
    try:
        outputs = _open_outputs(spec, prepared, copiers)
    except OSError as error:
        record.discard()
        what = "terminal" if spec.pty else "pipe"
        raise UsageError(
            f"no {what} in front of the log: {error.strerror}; nothing was launched"
        ) from None
    others = copiers if inbox is None else list_children()
    adopts = inbox is not None and libc.become_subreaper()  # the child may leave orphans at once
    try:
        child = spawn.spawn(spec, env, outputs[0], outputs[-1], own_process=inbox is not None)
    except spawn.NotStartedError as error:
        os.write(outputs[-1], format_messages(error.text).encode())
        ending = _not_started(error)
        recorder.finish(end_message(ending, []))
        return ending
    except OSError as error:
        record.discard()
        raise UsageError(
            f"cannot start a process: {error.strerror}; nothing was launched"
        ) from None
    except UsageError:
        record.discard()
        raise
    finally:
        for fd in outputs:
            os.close(fd)
        prepared.log_fds = []
    if prepared.tracing is not None:
        prepared.tracing.watch(child.pid)
    if inbox is not None:
        inbox.arm()
    tree = ProcessTree(child.pid, run_marker(record.run_id), adopts=adopts, exclude=others)
    supervisor = Supervisor(child.pid, spec, tree, recorder, inbox, policy, copiers)
    supervisor.run()
    return supervisor.ending


def _open_outputs(spec: RunSpec, prepared: PreparedRun, copiers: list[int]) -> list[int]:
    """Return the descriptors for stdout and stderr (one when merged): logs, or ways to them."""
    if spec.log_full == "fail" and not spec.pty:
        return prepared.log_fds
    pipes: list[int] = []
    try:
        for name, log_fd in zip(spec.logs, prepared.log_fds, strict=True):
            count_fd = prepared.record.create_log(log_pipe.count_file(name), append=False)
            write_fd, pid = log_pipe.start_copier(log_fd, count_fd, is_terminal=spec.pty)
            os.close(count_fd)
            os.close(log_fd)
            pipes.append(write_fd)
            copiers.append(pid)
    except OSError:
        for fd in pipes:
            os.close(fd)  # which ends its copier
        raise
    return pipes


def _not_started(error: spawn.NotStartedError) -> Ending:
    ending = Ending(time.time(), time.time())
    ending.started = False
    ending.start_error = (error.number, cut_words(error.text, 1000))
    return ending


def _stop_unsupervised(record: Record, recorder: RecorderProcess, error: BaseException) -> None:
    """Stop a child that was launched when an exception of the caller came before its supervision.

    Its number may not even have reached us, so it is found by its marker.
    """
    for _attempt in range(MAX_INTERRUPTIONS):
        if recorder.is_finished:
            return
        try:
            tree = ProcessTree(None, run_marker(record.run_id))
            ending = Ending(time.time())
            ending.signal = int(signal.SIGTERM)
            ending.sender = {"command": type(error).__name__, "pid": os.getpid()}
            pids = [process.pid for process in tree.members()]
            Stop(tree, signal.SIGTERM, 0.0, time.monotonic()).complete()
            for pid in pids:
                reap(pid)
            ending.ended_at = time.time()
            recorder.finish(end_message(ending, []))
        except BaseException:  # noqa: BLE001 - the child must not outlive its caller
            continue
