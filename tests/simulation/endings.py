"""Ends of the run of one node, each with the digest that the real code makes of its record.

The logs and events name rank 4242 and the host ``lost-host``; the nodes of a job put their own
there.
"""

from __future__ import annotations

import functools
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

from gpualert_common import recover
from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.digests.digest_collection import make_digest
from gpualert_common.record import Record
from gpualert_common.telemetry.source import SourceEvent
from tests.scenarios.ends import SLURM
from tests.scenarios.hardware import CUDA_ERROR, report_xid
from tests.scenarios.logs import falling, plain
from tests.scenarios.memory import CUDA_OOM
from tests.scenarios.scene import PID, Card, Scene

FIRST_RANK = 4239
"""First rank of the node of an ending."""
RANK = FIRST_RANK + 3
"""Rank of which an ending tells, on any node."""
LOST_HOST = "lost-host"
"""Host of which an ending tells that it was lost."""
_RANKS = 8
_NCCL = f"[rank{RANK}]:[E1120 09:33:58.904 ProcessGroupNCCL.cpp:"
_TORCHRUN = (
    "E1120 09:34:01.004 4000 torch/distributed/elastic/multiprocessing/api.py:874] failed"
    " (exitcode: {code}) local_rank: 3 (pid: 4011) of binary: /opt/venv/bin/python\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
    "============================================================\n"
    "train.py FAILED\n"
    "------------------------------------------------------------\n"
    "Root Cause (first observed failure):\n"
    "[0]:\n"
    "  time      : 2026-11-20_09:34:00\n"
    f"  rank      : {RANK} (local_rank: 3)\n"
    "  exitcode  : {code} (pid: 4011)\n"
    "  error_file: <N/A>\n"
    "============================================================\n"
)
_TERMINATED = (
    "W1120 09:34:01.004 4000 torch/distributed/elastic/agent/server/api.py:722] Received 15 death"
    " signal, shutting down workers\n"
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4000 got signal: 15\n"
)
_STORE_LOST = (
    "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the"
    " C10d store has failed. See inner exception for details.\n"
)


def _steps(last: int = 80) -> str:
    return plain(falling(Random(3)), range(1, last), 5000)


def _scene(
    log: str = "",
    code: int | None = 1,
    first: str = "",
    own: int = 1,
    others: int = -signal.SIGTERM,
    events: Iterable[tuple[str, float, SourceEvent]] = (),
    **more: object,
) -> Scene:
    """Return a run of which rank RANK ends with status *own*, and then the others of the node."""
    cards = [Card() for _ in range(_RANKS)]
    return Scene(
        log=(first or _steps()) + log,
        code=code,
        cards=cards,
        events=[*_rank_events(own, others), *events],
        **more,  # type: ignore[arg-type]
    )


def _rank_events(own: int, others: int) -> Iterator[tuple[str, float, SourceEvent]]:
    for local in range(_RANKS):
        rank, pid = FIRST_RANK + local, PID + 8 + local
        fields = {"pid": pid, "rank": rank, "local_rank": local, "world_size": 6000}
        begin = SourceEvent("rank_process", f"rank:{rank}", f"rank {rank} is {pid}", fields)
        yield "processes", 0.01, begin
        code = own if rank == RANK else others
        text = f"rank {rank} (process {pid}) ended with {code}"
        end = SourceEvent("rank_ended", f"rank:{rank}", text, {"pid": pid, "code": code})
        yield "processes", 0.9995 if rank == RANK else 0.9997, end


def _raises(text: str) -> str:
    frames = (
        "Traceback (most recent call last):\n"
        '  File "/home/user/train.py", line 141, in <module>\n'
        "    main()\n"
        '  File "/home/user/train.py", line 88, in main\n'
        "    loss = model(batch)\n"
    )
    marked = "".join(f"[rank{RANK}]: {line}\n" for line in f"{frames}{text}".splitlines())
    return marked + _TORCHRUN.format(code=1)


def _oom_kill() -> Scene:
    text = f"the kernel killed process {PID + 11} (python3): the limit was reached"
    fields = {
        "pid": PID + 11,
        "process": "python3",
        "limit_kind": "cgroup",
        "task_memcg": "/job",
        "oom_memcg": "/job",
    }
    counted = {"path": "/job", "kills": 1, "own": True, "limit_bytes": 1 << 40}
    return _scene(
        _TORCHRUN.format(code=-9) + f"Signal 9 (SIGKILL) received by PID {PID + 11}\n",
        own=-signal.SIGKILL,
        events=[
            ("kernel_log", 0.998, SourceEvent("oom_kill", f"pid:{PID + 11}", text, fields)),
            ("cgroup", 0.998, SourceEvent("cgroup_oom_kill", "cgroup", "1 kill", counted)),
        ],
    )


ENDINGS: dict[str, Callable[[], Scene]] = {
    "completed": lambda: _scene(
        code=0, own=0, others=0, first=plain(falling(Random(3)), range(1, 5001, 20), 5000)
    ),
    "cuda_oom": lambda: _scene(
        _raises(CUDA_OOM.splitlines()[-1].format(asked=9.5, gpu=3, total=79.2, free=1.2, held=70))
    ),
    "assertion": lambda: _scene(_raises("AssertionError: batch has 7 rows")),
    "runtime_error": lambda: _scene(_raises("RuntimeError: token id 50257 is out of range")),
    "data": lambda: _scene(
        _raises("PIL.UnidentifiedImageError: cannot identify image file '/data/4242.jpg'")
    ),
    "oom_killer": _oom_kill,
    "gpu_lost": lambda: _scene(
        _raises(CUDA_ERROR.format(what="unspecified launch failure").splitlines()[-2]),
        events=report_xid(79, 3, 0.998),
    ),
    "gpu_memory": lambda: _scene(
        _raises(CUDA_ERROR.format(what="uncorrectable ECC error encountered").splitlines()[-2]),
        events=report_xid(94, 3, 0.998),
    ),
    "segfault": lambda: _scene(
        f"[rank{RANK}]: Fatal Python error: Segmentation fault\n" + _TORCHRUN.format(code=-11),
        own=-signal.SIGSEGV,
    ),
    "peer_closed": lambda: _scene(
        _raises(
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3384, remote"
            " process exited or there was a network error, NCCL version 2.27.3\n"
            "ncclRemoteError: A call failed possibly due to a network error or a remote process"
            " exiting prematurely.\nLast error:\n"
            f"socketProgress: Connection closed by remote peer {LOST_HOST}<40912>"
        ),
        others=1,
    ),
    "watchdog": lambda: _scene(
        f"{_NCCL}632] [Rank {RANK}] Watchdog caught collective operation timeout:"
        " WorkNCCL(SeqNum=81, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024,"
        " Timeout(ms)=600000) ran for 600041 milliseconds before timing out.\n"
        f"{_NCCL}756] [Rank {RANK}] Exception (either an error or timeout) detected by watchdog"
        " at work: 81, last enqueued NCCL work: 81, last completed NCCL work: 80.\n"
        + _TORCHRUN.format(code=-6),
        own=-signal.SIGABRT,
        others=-signal.SIGABRT,
    ),
    "terminated": lambda: _scene(_TERMINATED, code=1, own=-signal.SIGTERM),
    "terminated_by_srun": lambda: _scene(
        "slurmstepd: error: *** STEP 77.0 ON gpu001 CANCELLED AT 2026-11-20T09:34:03 DUE TO TASK"
        " FAILURE ***\n" + _TERMINATED,
        code=-15,
        own=-signal.SIGTERM,
        signal=int(signal.SIGTERM),
    ),
    "killed_by_srun": lambda: _scene(code=-9, own=-signal.SIGKILL, others=-signal.SIGKILL),
    "rendezvous_lost": lambda: _scene(_STORE_LOST, code=1, own=-signal.SIGTERM),
    "config": lambda: _scene(
        "usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --warmup 100\n"
        + _TORCHRUN.format(code=2),
        first="loading\n",
    ),
    "missing_module": lambda: _scene(
        _raises("ModuleNotFoundError: No module named 'flash_attn'"), first="loading\n"
    ),
    "file_not_found": lambda: _scene(
        _raises("FileNotFoundError: [Errno 2] No such file or directory: '/data/train.bin'"),
        first="loading\n",
    ),
    "nan_loss": lambda: _scene(
        "".join(f"step {at}: loss nan\n" for at in range(80, 120))
        + _raises("FloatingPointError: loss is nan"),
    ),
    "nan_completed": lambda: _scene(
        "".join(f"step {at}: loss nan\n" for at in range(80, 5001, 20)), code=0, own=0, others=0
    ),
    "time_limit": lambda: _scene(
        SLURM.format(job=77, node="gpu001", why="DUE TO TIME LIMIT") + _TERMINATED,
        code=143,
        own=-signal.SIGTERM,
        signal=int(signal.SIGTERM),
    ),
    "preempted": lambda: _scene(
        SLURM.format(job=77, node="gpu001", why="DUE TO PREEMPTION") + _TERMINATED,
        code=143,
        own=-signal.SIGTERM,
        signal=int(signal.SIGTERM),
    ),
    "cancelled": lambda: _scene(
        "slurmstepd: error: *** JOB 77 ON gpu001 CANCELLED AT 2026-11-20T09:33:58 ***\n"
        + _TERMINATED,
        code=143,
        own=-signal.SIGTERM,
        signal=int(signal.SIGTERM),
    ),
}
"""Scenes by name."""


@functools.cache
def make_template(name: str) -> Digest:
    """Return the digest that the real code makes of a run with that ending."""
    with tempfile.TemporaryDirectory() as home:
        record = ENDINGS[name]().record(Path(home))
        record.close()
        assert recover.recover(Record.open(record.path)) == "recovered"
        return make_digest(Record.open(record.path))
