"""Dumps that are composed: ranks at places of PyTorch and of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from gpualert_common.stacks.dump import Dump, ProcessStack, StackFrame, Thread, Wait, WaitKind

TORCH = "/venv/lib/python3.11/site-packages/torch/"
_C10D = TORCH + "distributed/distributed_c10d.py"
_MAIN = StackFrame("main", "/job/train.py", 90, "train()", is_own=True)

Place = tuple[tuple[StackFrame, ...], Wait]


def own(function: str, line: int, code: str = "", file: str = "train.py") -> StackFrame:
    """Return a frame of the user's own code."""
    return StackFrame(function, f"/job/{file}", line, code, is_own=True)


def collective(name: str = "all_reduce", line: int = 120) -> Place:
    """Return the place of a rank in a collective operation of PyTorch."""
    frames = (
        StackFrame(name, _C10D, 3252),
        StackFrame("_exception_logger.<locals>.wrapper", TORCH + "distributed/c10d_logger.py", 83),
        own("train", line, f"dist.{name}(loss)"),
        _MAIN,
    )
    return frames, Wait(WaitKind.LOCK, "waits for a lock, or for another thread")


def backward() -> Place:
    """Return the place of a rank in its backward pass."""
    frames = (
        StackFrame("_engine_run_backward", TORCH + "autograd/graph.py", 979),
        StackFrame("backward", TORCH + "autograd/__init__.py", 395),
        StackFrame("Tensor.backward", TORCH + "_tensor.py", 623),
        own("train", 110, "loss.backward()"),
        _MAIN,
    )
    return frames, Wait(WaitKind.LOCK, "waits for a lock, or for another thread")


def compiled(code: str = "loss = step(batch)") -> Place:
    """Return the place of a rank in a compiled computation of JAX, which has no frames."""
    frames = own("train", 130, code), _MAIN
    return frames, Wait(WaitKind.LOCK, "waits for a lock, or for another thread")


def in_own_code(function: str = "load", kind: WaitKind = WaitKind.SLEEP, line: int = 33) -> Place:
    """Return the place of a rank in the user's own code."""
    frames = (own(function, line, "time.sleep(9)", "data.py"), own("train", 100), _MAIN)
    return frames, Wait(kind, "computes" if kind is WaitKind.RUNS else "sleeps")


def make_dump(
    places: Mapping[int, Place],
    *,
    world_size: int | None = None,
    others: Sequence[ProcessStack] = (),
    at: float = 1000.0,
    cpu_s: float = 0.0,
) -> Dump:
    """Return the dump of one machine with a rank at each of the places."""
    stacks: dict[tuple[StackFrame, ...], int] = {}
    processes = []
    for rank, (frames, wait) in places.items():
        pid = 100 + rank
        thread = Thread(pid, "MainThread", wait, stacks.setdefault(frames, len(stacks)))
        processes.append(
            ProcessStack(
                pid,
                "python",
                1,
                (thread,),
                label=f"rank:{rank}",
                local_rank=rank,
                local_world_size=len(places) if world_size is None else world_size,
                cpu_s=cpu_s,
                gpus=",".join(map(str, range(8))),
            )
        )
    return Dump(at, "node7", "test", 40, (*processes, *others), tuple(stacks))


class Variant:
    """A random run that hangs: its dump, and the ranks that the others wait for."""

    def __init__(self, chance: Random) -> None:
        size = chance.choice((2, 4, 8, 16, 64, 256, 1024))
        count = chance.choice((1, 1, 1, min(2, size - 1)))
        self.culprits = set(chance.sample(range(size), count))
        waiting = chance.choice((collective(), collective("barrier", 77), backward()))
        place = chance.choice(
            (
                in_own_code(),
                in_own_code("evaluate", WaitKind.RUNS, 210),
                in_own_code("tokenize", WaitKind.LOCK, 12),
                (waiting[0], Wait(WaitKind.STOPPED, "is stopped by a signal")),
                (collective()[0], Wait(WaitKind.DEBUGGER, "is stopped by a debugger")),
            )
        )
        is_gone = chance.random() < 0.2
        places = {
            rank: place if rank in self.culprits else waiting
            for rank in range(size)
            if not (is_gone and rank in self.culprits)
        }
        # Innocent ranks have workers, and threads of libraries, that stand elsewhere.
        workers = [
            ProcessStack(
                5000 + number,
                "pt_data_worker",
                100 + chance.randrange(size),
                (Thread(5000 + number, "MainThread", Wait(WaitKind.SLEEP, "sleeps")),),
            )
            for number in range(chance.randrange(4))
        ]
        self.dump = make_dump(places, world_size=size, others=workers)
