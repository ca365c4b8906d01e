"""Runs that ran out of memory, on the host or on the GPU, and runs that resemble them."""

from __future__ import annotations

from random import Random

from gpualert_common.telemetry.source import SourceEvent
from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.logs import falling, of_rank, plain, some_steps, traceback
from tests.scenarios.scene import GIB, PID, STRANGER, Card, Curve, Scene, flat, steps

SIGKILL = -9
LIMIT_MIB = 96
CUDA_OOM = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 41, in <module>\n'
    "    loss.backward()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked:.2f} GiB. GPU {gpu} "
    "has a total capacity of {total:.2f} GiB of which {free:.2f} GiB is free. Of the allocated "
    "memory {held:.2f} GiB is allocated by PyTorch, and 1.10 GiB is reserved by PyTorch but "
    "unallocated.\n"
)


def _oom(pid: int, cgroup: str | None = None, kind: str = "cgroup") -> SourceEvent:
    fields = {"pid": pid, "process": "python3", "limit_kind": kind, "anon_rss_bytes": 30 * GIB}
    if cgroup is not None:
        fields |= {"task_memcg": cgroup, "oom_memcg": cgroup}
    text = f"the kernel killed process {pid} (python3): the limit was reached"
    return SourceEvent("oom_kill", f"pid:{pid}", text, fields)


def _late(chance: Random) -> float:
    """Return a time in the last seconds of an hour: a launcher takes some seconds to exit."""
    return 1.0 - chance.uniform(0.0, 29.0) / 3600.0


@scenario("A2", "oom_killer", real_s=7)
def leader_killed(chance: Random) -> Scene:
    """The kernel kills the leader at the limit of its cgroup."""
    return Scene(code=SIGKILL, events=[("kernel_log", _late(chance), _oom(PID, "/job"))])


@scenario("A2", "oom_killer", real_s=7)
def killed_at_its_limit(chance: Random) -> Scene:
    """The kernel kills the leader at the limit of its cgroup, and the cgroup counts the kill."""
    fields = {"path": "/job", "kills": 1, "own": True, "limit_bytes": LIMIT_MIB << 20}
    text = "processes killed for lack of memory in cgroup /job: 1"
    at = _late(chance)
    events = [
        ("kernel_log", at, _oom(PID, "/job")),
        ("cgroup", at, SourceEvent("cgroup_oom_kill", "cgroup", text, fields)),
    ]
    log = some_steps(chance)
    return Scene(code=SIGKILL, log=log, events=events, memory_limit_mib=LIMIT_MIB)


@scenario("A2", "oom_killer")
def worker_killed(chance: Random) -> Scene:
    """The kernel kills a loader; the parent raises an exception and exits with 1."""
    worker = PID + chance.randint(1, 50)
    seen = SourceEvent(
        "processes_seen", "host:tree", "1 pt_data_worker", {"pids": {"pt": [worker]}}
    )
    log = (
        f"RuntimeError: DataLoader worker (pid {worker}) is killed by signal: Killed.\n"
        if chance.random() < 0.5
        else f"RuntimeError: DataLoader worker (pid(s) {worker}) exited unexpectedly\n"
    )
    return Scene(
        code=1,
        log=f'step 9 loss 0.4\nTraceback (most recent call last):\n  File "t.py", line 1\n{log}',
        events=[
            ("processes", 0.1, seen),
            ("kernel_log", _late(chance), _oom(worker, kind="host")),
        ],
    )


@scenario("A2", "oom_killer")
def only_counted(chance: Random) -> Scene:
    """In a container without the kernel's log, the counter of its cgroup rises."""
    fields = {"path": "/job", "kills": 1, "own": True, "limit_bytes": chance.randint(8, 64) * GIB}
    text = "processes killed for lack of memory in cgroup /job: 1"
    event = SourceEvent("cgroup_oom_kill", "cgroup", text, fields)
    events = [("cgroup", _late(chance), event)]
    return Scene(code=chance.choice((SIGKILL, 137)), missing=["kernel_log"], events=events)


@scenario("A2", "oom_killer", real_s=7)
def host_ran_out(chance: Random) -> Scene:
    """The host has no memory left, and the leader held the most."""
    return Scene(code=SIGKILL, events=[("kernel_log", _late(chance), _oom(PID, "/x", "host"))])


@scenario("A2", "oom_killer")
def peers_complain(chance: Random) -> Scene:
    """A rank is killed; the log has only the errors of the other ranks."""
    rank = PID + chance.randint(1, 8)
    log = (
        "[rank0]: RuntimeError: [/pytorch/gloo/transport/tcp/pair.cc:534] Connection closed by "
        "peer [10.0.0.4]:51834\n"
    )
    seen = SourceEvent("processes_seen", "host:tree", "2 python3", {"pids": {"python3": [rank]}})
    events = [("processes", 0.2, seen), ("kernel_log", _late(chance), _oom(rank, "/job"))]
    return Scene(code=1, log=log, events=events)


@near_miss("A2", "killed_unknown", real_s=7)
def killed_by_somebody(chance: Random) -> Scene:
    """SIGKILL, and the kernel's log has no kill."""
    return Scene(code=chance.choice((SIGKILL, 137)))


@near_miss("A2", "killed_unknown", real_s=7)
def stranger_killed(chance: Random) -> Scene:
    """The kernel kills another process at that time; a person killed ours."""
    return Scene(
        code=SIGKILL,
        memory_cgroup="/job",
        events=[("kernel_log", _late(chance), _oom(STRANGER, "/system", "host"))],
    )


@near_miss("A2", "traceback", family=None)
def killed_long_ago(chance: Random) -> Scene:
    """A helper of the run was killed long before; the run ends with an error of its own."""
    log = some_steps(chance) + traceback("KeyError: 'labels'", "main", "step")
    events = [("kernel_log", chance.uniform(0.05, 0.8), _oom(PID + 3, "/job"))]
    return Scene(code=1, log=log, events=events)


@near_miss("A2", "killed_unknown")
def silent_without_a_log(chance: Random) -> Scene:
    """SIGKILL without any telemetry: the sender is unknown."""
    missing = ["kernel_log", "cgroup", "processes", "nvml"]
    return Scene(code=chance.choice((SIGKILL, 137)), missing=missing)


@near_miss("A2", "killed_unknown")
def other_group_killed(chance: Random) -> Scene:
    """The parent cgroup counts a kill of an unknown process."""
    fields = {"path": "/", "kills": 1, "own": False}
    event = SourceEvent("cgroup_oom_kill", "cgroup", "processes killed in cgroup /: 1", fields)
    events = [("cgroup", _late(chance), event)]
    return Scene(code=SIGKILL, missing=["kernel_log"], events=events)


def _full(chance: Random, memory: Curve, **said: float) -> Scene:
    """Out of memory on one of the cards, of any size."""
    total = chance.choice((16, 24, 40, 80))
    cards = [Card(memory=memory, total_bytes=total * GIB) for _ in range(chance.choice((1, 1, 4)))]
    gpu = chance.randrange(len(cards))
    given = {"asked": 0.02, "free": 0.01, "held": 0.9, **said}
    sizes = {name: share * total for name, share in given.items()}
    log = some_steps(chance) + of_rank(chance, CUDA_OOM.format(gpu=gpu, total=total, **sizes))
    return Scene(code=1, log=log, cards=cards)


@scenario("B1", "cuda_oom", real_s=7)
def gpu_memory_ran_out(chance: Random) -> Scene:
    """The log reports it, and the memory curve of the card agrees."""
    held, begin = chance.uniform(0.9, 0.99), chance.uniform(0.2, 0.9)
    memory = steps((0.0, held * begin), (chance.uniform(0.1, 0.95), held))
    return _full(chance, memory, asked=chance.uniform(0.02, 0.2), free=1 - held, held=held)


@scenario("B1", "cuda_oom", real_s=7)
def gpu_memory_of_others(chance: Random) -> Scene:
    """Another process holds most of the card."""
    others = chance.uniform(0.5, 0.85)
    scene = _full(chance, flat(0.1), asked=0.1, free=0.9 - others, held=0.1)
    for card in scene.cards:
        card.others_bytes = int(others * card.total_bytes)
    return scene


@scenario("B1", "cuda_oom", real_s=7)
def gpu_request_too_large(chance: Random) -> Scene:
    """A single request is larger than the card."""
    return _full(chance, flat(0.22), asked=chance.uniform(1.1, 6), free=0.75, held=0.2)


@scenario("B1", "cuda_oom")
def gpu_memory_rose_unseen(chance: Random) -> Scene:
    """Between two samples: the curve does not agree, and the verdict reports it."""
    held = chance.uniform(0.2, 0.7)
    return _full(chance, flat(held), asked=0.05, free=0.02, held=0.93)


@scenario("B1", "cuda_oom")
def gpu_memory_by_another_door(chance: Random) -> Scene:
    """A library of CUDA reports it with its own message."""
    said = chance.choice(
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(h)`",
            "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while "
            + "trying to allocate 34359738368 bytes.",
        )
    )
    scene = _full(chance, flat(0.97))
    scene.log = some_steps(chance) + of_rank(chance, traceback(said, "main", "forward"))
    return scene


@near_miss("B1", "host_oom", real_s=7)
def host_memory_ran_out(chance: Random) -> Scene:
    """An allocation in host memory fails, on a card that is nearly full."""
    said = (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't "
        "allocate memory: you tried to allocate 68719476736 bytes. Error code 12 (Cannot allocate "
        "memory)"
    )
    log = some_steps(chance) + traceback(said, "main", "collate")
    return Scene(code=1, log=log, cards=[Card(memory=flat(chance.uniform(0.3, 0.99)))])


@near_miss("B1", "cuda_runtime", real_s=7)
def fails_on_a_full_card(chance: Random) -> Scene:
    """A kernel fails, on a card that is nearly full."""
    said = "torch.AcceleratorError: CUDA error: device-side assert triggered"
    log = some_steps(chance) + of_rank(chance, traceback(said, "main", "backward"))
    return Scene(code=1, log=log, cards=[Card(memory=flat(chance.uniform(0.9, 0.995)))])


@near_miss("B1", "traceback", family=None)
def caught_and_smaller(chance: Random) -> Scene:
    """It continued with a smaller batch; a bug ended it later."""
    log = (
        CUDA_OOM.format(gpu=0, asked=4, total=80, free=1, held=78) + "retrying with batch size 8\n"
    )
    log += some_steps(chance) + traceback("KeyError: 'labels'", "main", "step")
    return Scene(code=1, log=log, cards=[Card(memory=flat(0.97))])


@near_miss("B1", "none", real_s=7)
def as_full_as_it_can_be(chance: Random) -> Scene:
    """A caching allocator keeps its memory, in a successful run."""
    last = chance.choice((200, 1000))
    log = plain(falling(chance), range(1, last + 1, 5), last)
    return Scene(log=log, cards=[Card(memory=flat(chance.uniform(0.9, 0.999)))])


@near_miss("B1", "oom_killer")
def killed_on_a_full_card(chance: Random) -> Scene:
    """The kernel killed it for the host's memory; the card was also nearly full."""
    events = [("kernel_log", _late(chance), _oom(PID, "/job"))]
    cards = [Card(memory=flat(chance.uniform(0.9, 0.99)))]
    return Scene(code=SIGKILL, log=some_steps(chance), cards=cards, events=events)
