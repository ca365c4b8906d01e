"""From logs and exit statuses to causes: root before cascade, fatal before handled."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from gpualert_common.classify import LogReading, Resolution, Scanner, load_rules, resolve
from gpualert_common.model import Disposition, ExitFacts

RULES = load_rules()
RAISE = 'Traceback (most recent call last):\n  File "train.py", line 3, in main\n    step()\n'
STEPS = "".join(f"step {number} loss {9 / number:.3f}\n" for number in range(1, 40))
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 91.60 GiB. GPU 0 has a total "
    "capacity of 79.20 GiB of which 77.10 GiB is free. Of the allocated memory 1.52 GiB is "
    "allocated by PyTorch, and 86.14 MiB is reserved by PyTorch but unallocated.\n"
)
WATCHDOG = (
    "[rank{0}]:[E1120 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600021 milliseconds before timing out.\n"
)
GLOO = (
    "RuntimeError: [../gloo/transport/tcp/pair.cc:547] Connection closed by peer "
    "[127.0.0.1]:33211. This may indicate a remote worker crashing.\n"
)
LAUNCHER = (
    "E1120 10:00:01.000000 9 torch/distributed/elastic/multiprocessing/api.py:984] failed "
    "(exitcode: {}) local_rank: 1 (pid: 101) of binary: /usr/bin/python3\n"
    'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    main()\n'
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "====\ntrain.py FAILED\n----\nRoot Cause (first observed failure):\n"
    "[0]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : {} (pid: 101)\n====\n"
)


def reading(log: str | bytes, file: str = "output.log") -> LogReading:
    """Return the scan of *log*."""
    scanner = Scanner(RULES, file)
    scanner.feed(log.encode() if isinstance(log, str) else log, 0)
    return scanner.finish()


def resolve_log(log: str, code: int | None) -> Resolution:
    """Return the resolution of one log with an exit status."""
    return resolve([reading(log)], ExitFacts(code), RULES)


def ranked(rank: int, text: str) -> str:
    """Return *text* as torch prints it for *rank*."""
    return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())


LOGS: dict[str, tuple[str, int | None, str]] = {
    "oom": (STEPS + RAISE + OOM, 1, "cuda_oom"),
    "oom handled, then done": (RAISE + OOM + "retrying\n" + STEPS, 0, "none"),
    "oom handled, then a bug": (RAISE + OOM + STEPS + RAISE + "KeyError: 'x'\n", 1, "traceback"),
    "oom caught and logged, then a bug": (
        "skipped: " + OOM + STEPS + RAISE + "KeyError: 'x'\n",
        1,
        "traceback",
    ),
    "message before type": (
        RAISE + "MemoryError: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n",
        1,
        "cuda_oom",
    ),
    "type when the message is silent": (RAISE + "MemoryError\n", 1, "host_oom"),
    "subclass by its full name": (
        RAISE + "torch.distributed.DistBackendError: something new\n",
        1,
        "collective",
    ),
    "one rank fails, the others lose their peer": (
        ranked(1, RAISE + "KeyError: 'x'") + ranked(0, RAISE + GLOO) + LAUNCHER.format(1, 1),
        1,
        "traceback",
    ),
    "a failure behind a pipe, and its bar drawn again": (
        (bar := " 12%|█▌    | 3/25 [00:01<00:07,  3.1it/s, loss=1.86]\n")
        + RAISE
        + "KeyError: 'x'\n"
        + bar,
        0,
        "traceback",
    ),
    "a rank is killed, the others lose it": (
        WATCHDOG.format(0) + WATCHDOG.format(2) + LAUNCHER.format(-9, -9),
        1,
        "killed_unknown",
    ),
    "a rank is interrupted, the others lose it": (
        WATCHDOG.format(0) + LAUNCHER.format(-2, -2),
        1,
        "cancelled",
    ),
    "a rank ends with a status of its own, the others lose it": (
        WATCHDOG.format(0) + LAUNCHER.format(3, 3),
        1,
        "runtime_error",
    ),
    "the watchdog aborts the rank that the launcher names": (
        WATCHDOG.format(0) + LAUNCHER.format(-6, -6),
        1,
        "collective",
    ),
    "the rank that the launcher names had lost a peer": (
        WATCHDOG.format(0) + WATCHDOG.format(1) + LAUNCHER.format(3, 3),
        1,
        "collective",
    ),
    "an exception before the report of a launcher": (
        RAISE
        + "RuntimeError: DataLoader worker (pid(s) 17057) exited unexpectedly\n"
        + WATCHDOG.format(0)
        + LAUNCHER.format(1, 1),
        1,
        "runtime_error",
    ),
    "an error far from the end, as eight ranks write it": (
        "".join(f"[rank{rank}]: NCCL WARN {OOM}" for rank in range(8))
        + "".join(
            f"[rank{rank}]: releasing block {number}\n" for number in range(30) for rank in range(8)
        )
        + "".join(ranked(rank, RAISE + "RuntimeError: stopped") for rank in range(8)),
        1,
        "cuda_oom",
    ),
    "the loudest ranks are victims": (
        ranked(3, RAISE + OOM) + "".join(WATCHDOG.format(rank) for rank in (0, 1, 2)),
        -6,
        "cuda_oom",
    ),
    "the loudest speak first": (
        ranked(0, RAISE + GLOO) + ranked(1, RAISE + "KeyError: 'x'") + LAUNCHER.format(1, 1),
        1,
        "traceback",
    ),
    "a loss that was finite again": (
        "".join(f"step {n} loss: nan\n" for n in range(3)) + "step 3 loss 0.31\nstep 4 loss 0.3\n",
        0,
        "none",
    ),
    "a loss that stays nan": (
        STEPS + "".join(f"step {n} loss: nan\n" for n in range(40, 44)) + "saved model.pt\n",
        0,
        "nan_loss",
    ),
    "a loss that stays nan, and a summary of better times": (
        STEPS
        + "".join(f"step {n} loss: nan\n" for n in range(40, 44))
        + "Best val loss: 0.45\nBest train loss: 0.31\n",
        0,
        "nan_loss",
    ),
    "a checkpoint that was only announced": (
        "Saving model checkpoint to /out/checkpoint-1\n"
        + RAISE
        + "OSError: [Errno 30] Read-only file system: '/out/checkpoint-1'\n",
        1,
        "permission",
    ),
    "a signal that only rotates a log": (
        STEPS + "Got SIGHUP, rotating log file\nINFO epoch 30 saved\n",
        0,
        "none",
    ),
    "a logger called like a class": (
        "".join(f"2026-02-11 10:00:00 app.Trainer: step {n} ok\n" for n in range(60)),
        -9,
        "killed_unknown",
    ),
    "what make says of a target": (
        RAISE + "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub.example', "
        "port=443): Max retries exceeded with url: /x\n"
        "make: *** [Makefile:3: train] Error 1\n",
        2,
        "network",
    ),
    "a record in JSON between the frames": (
        'Traceback (most recent call last):\n  File "train.py", line 3, in main\n    step()\n'
        '{"exc": "Traceback (most recent call last):\\n  File \\"a.py\\", line 1, in f'
        '\\nTimeoutError: late"}\n' + OOM,
        1,
        "cuda_oom",
    ),
    "a thread that dies after one epoch": (
        "Epoch 1: finished training, validating\nException in thread Thread-1:\n"
        + RAISE
        + "KeyError: 'x'\n",
        None,
        "traceback",
    ),
    "a disk that went read-only": (
        "wrote ckpt_1.pt\n" + RAISE + "OSError: [Errno 30] Read-only file system: 'ckpt_2.pt'\n",
        1,
        "filesystem_io",
    ),
    "a disk that always was read-only": (
        RAISE + "OSError: [Errno 30] Read-only file system: 'ckpt_2.pt'\n",
        1,
        "permission",
    ),
    "stopped, and left with 0 before it was through": (
        STEPS + "received SIGTERM, draining\nINFO saved policy.pt at step 40 of 2000\n",
        0,
        "cancelled",
    ),
    "stopped when it was through": (
        STEPS + "received SIGTERM, draining\nINFO training complete\n",
        0,
        "none",
    ),
    "a limit that the log reports as a signal": (
        STEPS + RAISE + "torch.distributed.elastic.multiprocessing.api.SignalException: "
        "Process 4212 got signal: 15\n",
        124,
        "time_limit",
    ),
    "a thread that dies when all is done": (
        STEPS + "Training is done\nException in thread Thread-1:\n" + RAISE + "KeyError: 'x'\n",
        None,
        "unknown",
    ),
    "a thread that dies, and nothing is done": (
        STEPS + "Exception in thread Thread-1:\n" + RAISE + "KeyError: 'x'\n",
        None,
        "traceback",
    ),
    "a cut-off traceback next to a launcher's report": (
        RAISE
        + RAISE
        + "RuntimeError: One or more background workers are no longer alive. Exiting.\n",
        1,
        "runtime_error",
    ),
    "nothing but a watchdog": (STEPS + WATCHDOG.format(0) + WATCHDOG.format(1), -6, "collective"),
    "a worker was killed, the rest lost it": (
        ranked(0, RAISE + GLOO) + LAUNCHER.format(-9, -9),
        1,
        "killed_unknown",
    ),
    "a worker crashed": (ranked(0, RAISE + GLOO) + LAUNCHER.format(-11, -11), 1, "segfault"),
    "killed, and the scheduler says why": (
        STEPS + "slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step "
        "tasks have been OOM Killed.\n",
        -9,
        "oom_killer",
    ),
    "a loader's worker killed for memory": (
        RAISE + "RuntimeError: DataLoader worker (pid 9) is killed by signal: Killed. \n"
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=5.batch.\n",
        1,
        "oom_killer",
    ),
    "a loader's worker killed": (
        RAISE + "RuntimeError: DataLoader worker (pid 9) is killed by signal: Killed. \n",
        1,
        "killed_unknown",
    ),
    "killed": (STEPS, -9, "killed_unknown"),
    "killed under a shell": (STEPS + "Killed\n", 137, "killed_unknown"),
    "crashed": (STEPS, -11, "segfault"),
    "crashed under a shell": (STEPS, 139, "segfault"),
    "crashed at exit after an error": (RAISE + "KeyError: 'x'\n", -11, "traceback"),
    "aborted after a CUDA error": (
        (
            "terminate called after throwing an instance of 'c10::Error'\n"
            "  what():  CUDA error: an illegal memory access was encountered\n"
        ),
        -6,
        "cuda_runtime",
    ),
    "aborted by the heap": ("free(): double free detected in tcache 2\n", -6, "segfault"),
    "floating point exception": (STEPS, -8, "div_zero"),
    "terminated": (STEPS, -15, "cancelled"),
    "interrupted": (STEPS + RAISE + "KeyboardInterrupt\n", 130, "cancelled"),
    "time limit of the scheduler": (
        STEPS + "slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-20T10:00:00 DUE TO TIME "
        "LIMIT ***\n",
        -15,
        "time_limit",
    ),
    "preempted by the scheduler": (
        STEPS + "slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-20T10:00:00 DUE TO "
        "PREEMPTION ***\n",
        -15,
        "preempted",
    ),
    "direct cause": (
        RAISE + "FileNotFoundError: [Errno 2] No such file or directory: '/x'\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        + RAISE
        + "RuntimeError: cannot load\n",
        1,
        "file_not_found",
    ),
    "a message without its beginning, as a last resort": (
        (
            "\tsize mismatch for fc.weight: copying a param with shape torch.Size([10, 4]) from "
            "checkpoint, the shape in current model is torch.Size([12, 4]).\n"
        ),
        1,
        "checkpoint",
    ),
    "a message about NaN without its exception, as a last resort": (
        "preparing\n... SVD failed, input matrix contained non-finite values\n",
        1,
        "nan_loss",
    ),
    "a worker that is gone, after the exception that ended it": (
        "Process Process-1:\n"
        + RAISE
        + "OSError: [Errno 24] Too many open files\n"
        + RAISE
        + "EOFError\n",
        1,
        "too_many_files",
    ),
    "srun's cancelled step, after the rank that failed": (
        "1: " + RAISE.replace("\n", "\n1: ") + "KeyError: 'fox'\n"
        "srun: error: node1: task 1: Exited with exit code 1\n"
        "slurmstepd: error: *** STEP 1.0 ON node1 CANCELLED AT 2026-11-21T17:23:22 ***\n",
        143,
        "traceback",
    ),
    "another start failed after a preemption": (
        "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-21T10:00 DUE TO PREEMPTION ***\n"
        + "".join(f"loading shard {number}\n" for number in range(12))
        + RAISE
        + OOM,
        1,
        "cuda_oom",
    ),
    "descriptors that ran out while tensors were shared": (
        RAISE
        + "RuntimeError: unable to open shared memory object </torch_1_2> in read-write mode\n"
        "Exception in thread Thread-1:\n" + RAISE + "OSError: [Errno 24] Too many open files\n",
        1,
        "too_many_files",
    ),
    "a text that a healthy model wrote": (
        STEPS + "RuntimeError: what the model has learnt to say\n",
        0,
        "none",
    ),
    "records behind a traceback of a run that ended well": (
        STEPS + RAISE + "FloatingPointError: divide\n2026-11-20 10:00:00 INFO width 32 done\n",
        0,
        "none",
    ),
    "semaphores that do not fit into shared memory": (
        (
            'Traceback (most recent call last):\n  File "/usr/lib/python3.11/multiprocessing/'
            'synchronize.py", line 57, in __init__\n    self._semlock = _multiprocessing.SemLock(\n'
            "OSError: [Errno 28] No space left on device\n"
        ),
        1,
        "shared_memory",
    ),
    "a look-up that was tried and done without": (
        RAISE + "KeyError: 'x'\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        + RAISE
        + "AssertionError: the queue is not empty\n",
        1,
        "assertion",
    ),
    "the real message comes last": (
        RAISE + "ModuleNotFoundError: No module named 'fast'\n\n"
        "During handling of the above exception, another exception occurred:\n\n" + RAISE + OOM,
        1,
        "cuda_oom",
    ),
    "behind a pipe": (STEPS + RAISE + "KeyError: 'x'\n", 0, "traceback"),
    "killed and swallowed": (
        STEPS + "run.sh: line 3: 77 Killed                  python x\n",
        0,
        "killed_unknown",
    ),
    "NaN to the end": (
        STEPS + "".join(f"step {n} loss: nan\n" for n in range(40, 60)),
        0,
        "nan_loss",
    ),
    "one NaN": (STEPS + "step 40 loss: nan\n" + STEPS, 0, "none"),
    "quiet success": ("", 0, "none"),
    "a warning that sounds bad": (
        STEPS + "Exception ignored in: <f>\n" + RAISE + "OSError: x\n",
        0,
        "none",
    ),
    "silent failure": ("", 1, "runtime_error"),
    "no such command in a shell": (
        "bash: line 1: trian: command not found\n",
        127,
        "command_not_found",
    ),
    "no such command, silent": ("", 127, "command_not_found"),
    "not executable in a shell": ("bash: line 1: ./a.sh: Permission denied\n", 126, "permission"),
    "an old log without status": (STEPS + RAISE + OOM, None, "cuda_oom"),
    "an old log without a failure": (STEPS, None, "unknown"),
    "bar redrawn after the error": (
        RAISE + OOM + " 12%|#  | 12/100 [00:01<00:09]\r",
        1,
        "cuda_oom",
    ),
    "CUDA error with its advice": (
        RAISE + "torch.AcceleratorError: CUDA error: device-side assert triggered\n"
        "CUDA kernel errors might be asynchronously reported at some other API call.\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
        1,
        "cuda_runtime",
    ),
    "an out of memory that NCCL reports": (
        RAISE + "torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled cuda error "
        "(run with NCCL_DEBUG=INFO for details), NCCL version 2.21\n"
        "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n"
        "Cuda failure 2 'out of memory'\n",
        1,
        "cuda_oom",
    ),
    "a thread's failure before its queue ran dry": (
        "Exception in thread Thread-3:\n"
        + RAISE
        + "FileNotFoundError: [Errno 2] No such file or directory: 'x'\n"
        + RAISE
        + "_queue.Empty\n",
        1,
        "file_not_found",
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_cause(name: str) -> None:
    """The log and the status lead to the cause that an engineer would name."""
    log, code, cause = LOGS[name]
    assert resolve_log(log, code).cause == cause


PROGRAMS = {
    "missing_module": "import not_there",
    "file_not_found": "open('/nowhere/data.bin')",
    "div_zero": "rows = []\nprint(sum(rows) / len(rows))",
    "assertion": "assert 1 == 2, 'sizes'",
    "runtime_error": "raise RuntimeError('boom')",
    "traceback": "{}['key']",
    "host_oom": "import numpy\nnumpy.ones((10**7, 10**7))",
    "segfault": "import faulthandler\nfaulthandler.enable()\nfaulthandler._sigsegv()",
    "killed_unknown": "import os\nos.kill(os.getpid(), 9)",
    "cancelled": "import os\nos.kill(os.getpid(), 15)",
    "none": "for step in range(9): print('step', step)",
}


@pytest.mark.parametrize("cause", PROGRAMS)
def test_real_program(cause: str) -> None:
    """A really failing program gets its cause from its own output and status."""
    command = [sys.executable, "-c", textwrap.dedent(PROGRAMS[cause])]
    done = subprocess.run(command, capture_output=True, timeout=60)
    readings = [reading(done.stdout, "stdout.log"), reading(done.stderr, "stderr.log")]
    assert resolve(readings, ExitFacts(done.returncode), RULES).cause == cause


def test_oversize_request() -> None:
    """An allocation larger than the card is distinguished from a full card, with its numbers."""
    found = resolve_log(RAISE + OOM, 1).details
    assert found["kind"] == "oversize"
    sizes = [found["requested_bytes"], found["device_total_bytes"]]
    assert [size >> 30 for size in sizes if isinstance(size, int)] == [91, 79]
    assert found["gpu"] == 0


@pytest.mark.parametrize(
    ("rest", "kind"),
    [
        ("of which 1.00 GiB is free. Process 7 has 60.00 GiB memory in use.", "co_tenant"),
        ("of which 30.00 GiB is free.", "refused"),
        (
            (
                "of which 1.00 GiB is free. Of the allocated memory 50.00 GiB is allocated by "
                "PyTorch, and 25.00 GiB is reserved by PyTorch but unallocated."
            ),
            "fragmentation",
        ),
        ("of which 1.00 GiB is free.", "plain"),
    ],
)
def test_kind_of_oom(rest: str, kind: str) -> None:
    """The owner of the memory is found in the message alone."""
    message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. "
    log = f"{RAISE}{message}GPU 0 has a total capacity of 79.20 GiB {rest}\n"
    assert resolve_log(log, 1).details["kind"] == kind


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ((2, "[Errno 2] No such file or directory: 'trian'"), "command_not_found"),
        ((13, "[Errno 13] Permission denied: './train.sh'"), "permission"),
        ((13, "./data: Is a directory"), "command_not_found"),
        ((8, "[Errno 8] Exec format error: './train'"), "command_not_found"),
    ],
)
def test_not_started(error: tuple[int, str], cause: str) -> None:
    """A command that could not be started has the cause of the error, with any old log."""
    facts = ExitFacts(127, started=False, start_error=error)
    found = resolve([reading(RAISE + OOM)], facts, RULES)
    assert (found.cause, found.disposition) == (cause, Disposition.NOT_STARTED)


@pytest.mark.parametrize("code", [0, 1, 143, -15])
@pytest.mark.parametrize(
    ("sender", "disposition"),
    [
        (None, Disposition.CANCELLED),
        ({"pid": 1, "uid": 1000, "command": "bash"}, Disposition.CANCELLED),
        ({"pid": 9, "uid": 0, "command": "slurmstepd: [5.batch]"}, Disposition.PREEMPTED),
        ({"pid": 1, "uid": 0, "command": "/usr/lib/systemd/systemd --user"}, Disposition.PREEMPTED),
        ({"pid": 9, "uid": 0, "command": "/usr/bin/kubelet"}, Disposition.PREEMPTED),
    ],
)
def test_signal_passed_on(code: int, sender: Any, disposition: Disposition) -> None:
    """After a passed-on signal no status is a success: the run is cancelled or preempted."""
    facts = ExitFacts(code, signal=signal.SIGTERM, sender=sender)
    found = resolve([reading(STEPS)], facts, RULES)
    assert (found.cause, found.disposition) == (disposition.value, disposition)


def test_signal_passed_on_for_a_reason_the_log_gives() -> None:
    """The scheduler's own message takes precedence over the signal."""
    log = "slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-20T1 DUE TO TIME LIMIT ***\n"
    facts = ExitFacts(0, signal=signal.SIGTERM, sender={"pid": 9, "command": "slurmstepd"})
    found = resolve([reading(STEPS + log)], facts, RULES)
    assert (found.cause, found.disposition) == ("time_limit", Disposition.TIMEOUT)


def test_our_time_limit() -> None:
    """A run that our limit ended is a timeout, with any output during the stop."""
    log = STEPS + RAISE + "KeyboardInterrupt\n"
    found = resolve([reading(log)], ExitFacts(1, limit="time", signal=15), RULES)
    assert (found.cause, found.disposition) == ("time_limit", Disposition.TIMEOUT)


def test_unknown_status_is_no_success() -> None:
    """Without a status and a failure in the log the outcome is unknown."""
    found = resolve_log(STEPS, None)
    assert (found.cause, found.disposition) == ("unknown", Disposition.UNKNOWN)
    assert found.confidence == 0.0


def test_separate_logs() -> None:
    """A traceback at the end of one log is no failure if another log may have continued."""
    logs = [reading(STEPS, "stdout.log"), reading(RAISE + OOM, "stderr.log")]
    assert resolve(logs, ExitFacts(0), RULES).cause == "none"
    assert resolve(logs, ExitFacts(1), RULES).cause == "cuda_oom"


def test_running() -> None:
    """A run in progress has no cause."""
    found = resolve([reading(RAISE + OOM)], ExitFacts(None), RULES, running=True)
    assert (found.cause, found.disposition) == ("none", Disposition.RUNNING)


def test_full_disk_of_the_log() -> None:
    """A failure without a message is attributed to the log's full disk, others are not."""
    facts = ExitFacts(1, log_disk_full=True)
    assert resolve([reading("")], facts, RULES).cause == "disk_full"
    assert resolve([reading(RAISE + OOM)], facts, RULES).cause == "cuda_oom"


def test_signal_behind_a_shell_is_only_probable() -> None:
    """128+n has a lower confidence than the signal itself."""
    assert resolve_log("", 139).status.is_inferred
    assert resolve_log("", 139).confidence < resolve_log("", -11).confidence


def test_secondary() -> None:
    """Other observations of the log are listed, with the reason why they are not the cause."""
    log = ranked(1, RAISE + "KeyError: 'x'") + ranked(0, RAISE + GLOO)
    ((cause, because),) = resolve_log(log, 1).secondary
    assert cause == "collective"
    assert "other ranks" in because


def test_rank() -> None:
    """The rank that failed is named."""
    assert resolve_log(ranked(3, RAISE + OOM) + WATCHDOG.format(0), 1).rank == 3


def test_training_had_begun() -> None:
    """Progress before the failure is found, also far above it."""
    assert resolve_log(STEPS + "x" * 200_000 + "\n" + RAISE + OOM, 1).has_trained
    assert not resolve_log(RAISE + OOM, 1).has_trained
