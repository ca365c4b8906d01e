"""Lines of real training logs that contain nothing about the cause of a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from random import Random

from gpualert_common.signal_names import signal_name

BAR_STEPS = 5000
"""The last step of :func:`draw_bar`."""
_BAR_CELLS = 20
_OTHER_RANKS = range(1, 8)
_DAY = "2026-03-11"


def draw_bar(random: Random, step: int, steps: int = BAR_STEPS) -> str:
    """Return one state of tqdm's bar, without the carriage return in front of it."""
    full = step * _BAR_CELLS // steps
    cells = ("█" * full + "▌" + " " * _BAR_CELLS)[:_BAR_CELLS]
    gone, left = step // 6, (steps - step) // 6
    loss = 2.1 - 1.4 * step / steps + random.uniform(-0.05, 0.05)
    return (
        f"{step * 100 // steps:3}%|{cells}| {step}/{steps} [{_clock(gone)}<{_clock(left)},  "
        f"{random.uniform(5.8, 6.4):.2f}it/s, loss={loss:.3f}]"
    )


@cache
def write_progress(lines: int, style: int) -> bytes:
    """Return *lines* lines of a successful training in one style of :data:`_PROGRESS`."""
    random = Random(style)
    write = _PROGRESS[style % len(_PROGRESS)]
    text = "".join(f"{write(random, step)}\n" for step in range(1, lines + 1))
    return text.encode()


def _trainer(random: Random, step: int) -> str:
    loss, norm = _loss(random, step), random.uniform(0.4, 1.6)
    return (
        f"{{'loss': '{loss:.4f}', 'grad_norm': '{norm:.3f}', "
        f"'learning_rate': '{2e-5 * (1 - step / 90000):.3e}', 'epoch': '{step / 7000:.2f}'}}"
    )


def _megatron(random: Random, step: int) -> str:
    return (
        f" [{_DAY} {_clock(step % 86400, hours=True)}] iteration {step:8}/   90000 | "
        f"consumed samples: {step * 512:12} | elapsed time per iteration (ms): "
        f"{random.uniform(802, 840):.1f} | learning rate: 1.500000E-04 | global batch size:   512 |"
        f" lm loss: {_loss(random, step):.6E} | loss scale: 1.0 | grad norm: "
        f"{random.uniform(0.3, 1.1):.3f} | number of skipped iterations:   0 | "
        "number of nan iterations:   0 |"
    )


def _plain(random: Random, step: int) -> str:
    return (
        f"epoch {step // 5000} step {step} loss {_loss(random, step):.4f} "
        f"acc {min(0.97, 0.4 + step / 50000):.3f} lr 0.00030 {random.uniform(300, 330):.0f} img/s"
    )


def _lightning(random: Random, step: int) -> str:
    return (
        f"{_DAY} {_clock(step % 86400, hours=True)},{random.randrange(1000):03} - trainer - INFO - "
        f"global_step={step} train_loss={_loss(random, step):.4f} val_loss=0.7312 patience 0/5"
    )


_PROGRESS: tuple[Callable[[Random, int], str], ...] = (_trainer, _megatron, _plain, _lightning)
PROGRESS_STYLES = len(_PROGRESS)


def write_cascade(random: Random, exit_code: int, lines: int) -> str:
    """Return the report of the other ranks and torchrun after one rank exited with *exit_code*."""
    ranks = random.sample(_OTHER_RANKS, len(_OTHER_RANKS))
    sequence = random.randrange(800, 90000)
    ending = [*_closing(random), *_summary(random, exit_code)]
    reports: list[str] = []
    while len(reports) < lines - len(ending):
        rank = ranks[len(reports) % len(ranks)]
        reports += random.choice((_watchdog, _connection))(random, rank, sequence)
    return "".join(f"{line}\n" for line in [*reports[: lines - len(ending)], *ending])


def _watchdog(random: Random, rank: int, sequence: int) -> Iterator[str]:
    ran_ms = random.randrange(600001, 600090)
    glog = f"[rank{rank}]:[E311 14:{random.randrange(60):02}:07.{random.randrange(10**9):09}"
    work = (
        f"WorkNCCL(SeqNum={sequence}, OpType=ALLREDUCE, NumelIn=6553600, NumelOut=6553600, "
        "Timeout(ms)=600000)"
    )
    caught = (
        f"[Rank {rank}] Watchdog caught collective operation timeout: {work} ran for {ran_ms} "
        "milliseconds before timing out."
    )
    yield f"{glog} ProcessGroupNCCL.cpp:632] {caught}"
    yield (
        f"{glog} ProcessGroupNCCL.cpp:1793] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Exception "
        f"(either an error or timeout) detected by watchdog at work: {sequence}, last enqueued "
        f"NCCL work: {sequence + 3}, last completed NCCL work: {sequence - 1}."
    )
    yield (
        f"{glog} ProcessGroupNCCL.cpp:683] [Rank {rank}] Some NCCL operations have failed or timed "
        "out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run "
        "on corrupted/incomplete data."
    )
    yield (
        f"{glog} ProcessGroupNCCL.cpp:697] [Rank {rank}] To avoid data inconsistency, we are "
        "taking the entire process down."
    )
    yield "terminate called after throwing an instance of 'c10::DistBackendError'"
    yield (
        f"  what():  [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog thread "
        f"terminated with exception: {caught}"
    )
    yield (
        "Exception raised from checkTimeout at "
        "/pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:635 (most recent call first):"
    )
    for number, (function, library) in enumerate(_FRAMES):
        yield f"frame #{number}: {function} + 0x{random.randrange(1 << 20):x} ({library})"
    yield ""


_SITE = "/opt/conda/lib/python3.11/site-packages/torch"
_FRAMES = (
    ("c10::Error::Error(c10::SourceLocation, std::string)", f"{_SITE}/lib/libc10.so"),
    ("c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout()", f"{_SITE}/lib/libtorch_cuda.so"),
    ("c10d::ProcessGroupNCCL::watchdogHandler()", f"{_SITE}/lib/libtorch_cuda.so"),
    ("c10d::ProcessGroupNCCL::ncclCommWatchdog()", f"{_SITE}/lib/libtorch_cuda.so"),
    ("<unknown function>", "/lib/x86_64-linux-gnu/libstdc++.so.6"),
    ("<unknown function>", "/lib/x86_64-linux-gnu/libc.so.6"),
)


def _connection(random: Random, rank: int, sequence: int) -> Iterator[str]:  # noqa: ARG001
    lead = f"[rank{rank}]:"
    yield f"{lead} Traceback (most recent call last):"
    yield f'{lead}   File "/workspace/train.py", line 212, in <module>'
    yield f"{lead}     main()"
    yield f'{lead}   File "/workspace/train.py", line 187, in main'
    yield f"{lead}     dist.barrier()"
    yield f'{lead}   File "{_SITE}/distributed/c10d_logger.py", line 81, in wrapper'
    yield f"{lead}     return func(*args, **kwargs)"
    yield f"{lead}            ^^^^^^^^^^^^^^^^^^^^^"
    yield f'{lead}   File "{_SITE}/distributed/distributed_c10d.py", line 4635, in barrier'
    yield f"{lead}     work = group.barrier(opts=opts)"
    yield f"{lead}            ^^^^^^^^^^^^^^^^^^^^^^^^"
    yield (
        f"{lead} RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:538] "
        f"Connection closed by peer [10.18.4.{20 + rank}]:{random.randrange(20000, 60000)}"
    )


def _closing(random: Random) -> Iterator[str]:
    pid = random.randrange(3000, 400000)
    for rank in _OTHER_RANKS:
        yield (
            f"W0311 14:31:{rank:02}.{random.randrange(10**6):06} {pid} torch/distributed/elastic/"
            f"multiprocessing/api.py:908] Sending process {pid + rank + 1} closing signal SIGTERM"
        )


def _summary(random: Random, exit_code: int) -> Iterator[str]:
    pid = random.randrange(3000, 400000)
    code = 128 - exit_code if 128 < exit_code < 255 else exit_code  # a shell's 137: -9 of torchrun
    trace = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    if code < 0:
        trace = f"Signal {-code} ({signal_name(-code)}) received by PID {pid}"
    yield (
        f"E0311 14:31:12.{random.randrange(10**6):06} {pid - 1} torch/distributed/elastic/"
        f"multiprocessing/api.py:882] failed (exitcode: {code}) local_rank: 0 (pid: {pid}) of "
        "binary: /opt/conda/bin/python"
    )
    yield "Traceback (most recent call last):"
    yield '  File "/opt/conda/bin/torchrun", line 8, in <module>'
    yield "    sys.exit(main())"
    yield "             ^^^^^^"
    yield f'  File "{_SITE}/distributed/launcher/api.py", line 277, in launch_agent'
    yield "    raise ChildFailedError("
    yield "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
    yield "=" * 60
    yield "train.py FAILED"
    yield "-" * 60
    yield "Failures:"
    yield "  <NO_OTHER_FAILURES>"
    yield "-" * 60
    yield "Root Cause (first observed failure):"
    yield "[0]:"
    yield f"  time      : {_DAY}_14:31:07"
    yield "  host      : node-a07"
    yield "  rank      : 0 (local_rank: 0)"
    yield f"  exitcode  : {code} (pid: {pid})"
    yield "  error_file: <N/A>"
    yield f"  traceback : {trace}"
    yield "=" * 60


def _loss(random: Random, step: int) -> float:
    return 0.8 + 3.0 / (1 + step / 700) + random.uniform(-0.03, 0.03)


def _clock(seconds: int, *, hours: bool = False) -> str:
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}" if hours else f"{minutes:02}:{second:02}"
