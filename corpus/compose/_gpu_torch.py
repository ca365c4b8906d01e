"""Output of PyTorch: out of memory, the NCCL watchdog, the launcher's summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corpus.compose._gpu_tape import SITE, Tape, traceback

LAUNCHER = "/opt/conda/bin/torchrun"
_OLD = ("1.8", "1.10", "1.12", "1.13", "2.0")
# Lines of ProcessGroupNCCL.cpp: time-out, status of the work, failed operations, taken down, end.
_LINES = {
    "1.13": (737, 0, 414, 414, 0),
    "2.0": (828, 0, 455, 460, 0),
    "2.1": (474, 0, 488, 494, 915),
    "2.2": (523, 0, 537, 543, 1182),
    "2.3": (563, 1537, 577, 583, 1414),
    "2.4": (607, 1664, 621, 627, 1515),
    "2.5": (616, 1785, 630, 636, 1595),
    "2.6": (629, 2168, 681, 695, 1895),
    "2.7": (632, 2271, 684, 698, 1902),
    "2.8": (685, 2252, 739, 753, 2057),
}
_GLOG = ("2.4", "2.5", "2.6", "2.7", "2.8")
_API_LINES = {"2.3": 826, "2.4": 833, "2.5": 869, "2.6": 869, "2.7": 874, "2.8": 877}
_ASYNC = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1{dot}\n"
)


@dataclass(frozen=True, slots=True)
class Exit:
    """The exit of one rank, for the launcher's summary; ``code`` is negative for a signal."""

    rank: int
    code: int
    pid: int
    local: int = -1


def oom(
    version: str,
    asked: str,
    *,
    gpu: int = 0,
    total: str = "79.11 GiB",
    free: str = "318.75 MiB",
    used: str = "78.78 GiB",
    allocated: str = "76.41 GiB",
    idle: str = "1.32 GiB",
) -> str:
    """Return the error line for a full GPU in the words of torch *version*."""
    if version in _OLD:
        name = (
            "RuntimeError" if version in ("1.8", "1.10", "1.12") else "torch.cuda.OutOfMemoryError"
        )
        hint = (
            ""
            if version == "1.8"
            else " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
        )
        return f"{name}: CUDA out of memory. Tried to allocate {asked} (GPU {gpu}; {total} total capacity; {allocated} already allocated; {free} free; {used} reserved in total by PyTorch){hint}"
    name = (
        "torch.cuda.OutOfMemoryError"
        if version in ("2.1", "2.2", "2.3", "2.4")
        else "torch.OutOfMemoryError"
    )
    capacity = "capacty" if version == "2.1" else "capacity"
    hint = (
        "max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
        if version == "2.1"
        else "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
    return (
        f"{name}: CUDA out of memory. Tried to allocate {asked}. GPU {gpu} has a total {capacity} of {total} of which {free} is free. "
        f"Including non-PyTorch memory, this process has {used} memory in use. Of the allocated memory {allocated} is allocated by PyTorch, "
        f"and {idle} is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting {hint}"
    )


def cuda_error(version: str, what: str) -> str:
    """Return the error of a failed CUDA call, with the notice that follows each of them."""
    head = (
        "RuntimeError"
        if version in (*_OLD, "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7")
        else "torch.AcceleratorError"
    )
    if version == "1.8":
        return f"{head}: CUDA error: {what}"
    dot = "." if version in ("1.10", "1.12", "1.13", "2.0", "2.1") else ""
    dsa = (
        ""
        if version in ("1.10", "1.12", "1.13")
        else "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )
    return f"{head}: CUDA error: {what}\n{_ASYNC.format(dot=dot)}{dsa}".rstrip("\n") + "\n"


def frames(tape: Tape, thread: str, *, first: str = "", site: str = SITE) -> str:
    """Return the C++ frames of an exception of a watchdog or of a CUDA check."""
    lib = f"{site}/torch/lib"
    names = {
        "timeout": [
            (
                "c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::duration<long, std::ratio<1l, 1000l> > >)",
                "libtorch_cuda.so",
            ),
            ("c10d::ProcessGroupNCCL::watchdogHandler()", "libtorch_cuda.so"),
            ("c10d::ProcessGroupNCCL::ncclCommWatchdog()", "libtorch_cuda.so"),
        ],
        "cuda": [
            (
                "c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string const&)",
                "libc10.so",
            ),
            (
                "c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)",
                "libc10_cuda.so",
            ),
            (
                "c10d::ProcessGroupNCCL::WorkNCCL::finishedGPUExecutionInternal() const",
                "libtorch_cuda.so",
            ),
            ("c10d::ProcessGroupNCCL::WorkNCCL::isCompleted()", "libtorch_cuda.so"),
            ("c10d::ProcessGroupNCCL::watchdogHandler()", "libtorch_cuda.so"),
            ("c10d::ProcessGroupNCCL::ncclCommWatchdog()", "libtorch_cuda.so"),
        ],
        "free": [
            (
                "c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)",
                "libc10_cuda.so",
            ),
            ("<unknown function>", "libc10_cuda.so"),
            ("c10::TensorImpl::~TensorImpl()", "libc10.so"),
            ("<unknown function>", "libtorch_python.so"),
        ],
        "store": [
            (
                "c10d::TCPStore::doWait(c10::ArrayRef<std::string>, std::chrono::duration<long, std::ratio<1l, 1000l> >)",
                "libtorch_cpu.so",
            ),
            ("c10d::TCPStore::doGet(std::string const&)", "libtorch_cpu.so"),
            ("c10d::TCPStore::get(std::string const&)", "libtorch_cpu.so"),
            ("c10d::PrefixStore::get(std::string const&)", "libtorch_cpu.so"),
            ("c10d::ProcessGroupNCCL::heartbeatMonitor()", "libtorch_cuda.so"),
        ],
    }[thread]
    lines = [first] if first else []
    lines.append(
        _frame(tape, 0, "c10::Error::Error(c10::SourceLocation, std::string)", f"{lib}/libc10.so")
    )
    lines += [_frame(tape, 1 + at, name, f"{lib}/{file}") for at, (name, file) in enumerate(names)]
    for name, file in (
        ("<unknown function>", "/lib/x86_64-linux-gnu/libstdc++.so.6"),
        ("<unknown function>", "/lib/x86_64-linux-gnu/libc.so.6"),
        ("clone", "/lib/x86_64-linux-gnu/libc.so.6"),
    ):
        lines.append(_frame(tape, len(lines) - bool(first), name, file))
    return "\n".join(lines)


def watchdog(
    tape: Tape,
    version: str,
    rank: int,
    *,
    seq: int,
    op: str = "ALLREDUCE",
    numel: tuple[int, int] = (1, 1),
    timeout_ms: int = 600000,
    ahead: int = 0,
    group: str = "",
    stack: bool = False,
) -> str:
    """Return the report of a rank's watchdog about work *seq*, until the process is killed."""
    timed, status, failed, down, end = _LINES[version]
    sizes = "" if version in ("1.13", "2.0") else f" NumelIn={numel[0]}, NumelOut={numel[1]},"
    work = "" if version == "1.13" else f"SeqNum={seq}, "
    ran = timeout_ms + tape.rng.randrange(7, 910)
    caught = f"Watchdog caught collective operation timeout: WorkNCCL({work}OpType={op},{sizes} Timeout(ms)={timeout_ms}) ran for {ran} milliseconds before timing out."
    lost = "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data."
    taken = "To avoid data inconsistency, we are taking the entire process down."
    if version == "1.13":
        return "\n".join(
            (
                f"[E ProcessGroupNCCL.cpp:{timed}] [Rank {rank}] {caught}",
                f"[E ProcessGroupNCCL.cpp:{failed}] {lost} To avoid this inconsistency, we are taking the entire process down.",
                "terminate called after throwing an instance of 'std::runtime_error'",
                f"  what():  [Rank {rank}] {caught}",
            )
        )
    own = f"[Rank {rank}] "
    lines = [f"{_head(tape, version, rank, timed)} {own}{caught}"]
    if version in ("2.3", "2.4", "2.5"):
        pg = group or ("PG ID 0 PG GUID 0(default_pg)" if version == "2.5" else "PG 0")
        said = (
            "Timeout at NCCL"
            if version == "2.3"
            else "Exception (either an error or timeout) detected by watchdog at"
        )
        lines.append(
            f"{_head(tape, version, rank, status)} [{pg} Rank {rank}] {said} work: {seq}, last enqueued NCCL work: {seq + ahead}, last completed NCCL work: {seq - 1}."
        )
    elif version in ("2.6", "2.7", "2.8"):
        pg = group or "PG ID 0 PG GUID 0(default_pg)"
        lines += [
            f"{_head(tape, version, rank, status)} [{pg} Rank {rank}]  failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {seq + ahead}, last completed work: {seq - 1}",
            f"{_head(tape, version, rank, timed + 38)} Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.",
        ]
    own = own if version in ("2.3", "2.4", "2.5", "2.6", "2.7", "2.8") else ""
    lines += [
        f"{_head(tape, version, rank, failed)} {own}{lost}",
        f"{_head(tape, version, rank, down)} {own}{taken}",
    ]
    if version == "2.0":
        return "\n".join(
            [
                *lines,
                "terminate called after throwing an instance of 'std::runtime_error'",
                f"  what():  [Rank {rank}] {caught}",
            ]
        )
    pg = group or (
        "PG ID 0 PG GUID 0(default_pg)" if version in ("2.5", "2.6", "2.7", "2.8") else "PG 0"
    )
    whose = (
        f"[{pg} Rank {rank}] Process group"
        if version not in ("2.1", "2.2")
        else f"[Rank {rank}] NCCL"
    )
    lines.append(
        f"{_head(tape, version, rank, end)} {whose} watchdog thread terminated with exception: [Rank {rank}] {caught}"
    )
    if version != "2.1":
        source = "/pytorch/torch" if version in ("2.6", "2.7", "2.8") else "../torch"
        raised = f"Exception raised from checkTimeout at {source}/csrc/distributed/c10d/ProcessGroupNCCL.cpp:{timed + 2} (most recent call first):"
        block = frames(tape, "timeout", first=raised)
        lines += [block, ""]
        if stack:
            lines += [
                "terminate called after throwing an instance of 'c10::DistBackendError'",
                f"  what():  {lines[-3].split('] ', 1)[1]}",
                block,
                "",
            ]
    else:
        lines += [
            "terminate called after throwing an instance of 'std::runtime_error'",
            f"  what():  [Rank {rank}] NCCL watchdog thread terminated with exception: [Rank {rank}] {caught}",
        ]
    return "\n".join(lines)


def heartbeat(tape: Tape, version: str, rank: int, seconds: int = 600) -> str:
    """Return the report of the monitor that kills a process with a stuck watchdog thread."""
    line = {"2.3": 1316, "2.4": 1375, "2.5": 1375, "2.6": 1484}[version]
    return (
        f"{_head(tape, version, rank, line)} [PG 0 Rank {rank}] ProcessGroupNCCL's watchdog got stuck for {seconds} seconds without making progress in monitoring enqueued collectives. "
        "This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog, and could be triggered by another thread holding the GIL inside a CUDA api "
        "(for example, CudaEventDestroy), or other deadlock-prone behaviors.If you suspect the watchdog is not actually stuck and a longer timeout would help, you can either increase the timeout "
        "(TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC) to a larger value or disable the heartbeat monitor (TORCH_NCCL_ENABLE_MONITORING=0).If either of aforementioned helps, feel free to file an issue to PyTorch "
        "about the short timeout or false positive abort; otherwise, please attempt to debug the hang. workMetaList_.size() = 0"
    )


def watchdog_cuda(tape: Tape, version: str, rank: int, what: str, *, group: str = "PG 0") -> str:
    """Return the report of a rank's watchdog about the CUDA error *what* of another call."""
    end = _LINES[version][4]
    who = (
        f"[Rank {rank}] NCCL"
        if version in ("2.1", "2.2")
        else f"[{group} Rank {rank}] Process group"
    )
    told = f"{who} watchdog thread terminated with exception: CUDA error: {what}"
    note = (
        _ASYNC.format(dot="." if version == "2.1" else "")
        + "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )
    block = frames(
        tape,
        "cuda",
        first="Exception raised from c10_cuda_check_implementation at ../c10/cuda/CUDAException.cpp:43 (most recent call first):",
    )
    return (
        f"{_head(tape, version, rank, end)} {told}\n{note}\n{block}\n\n"
        f"terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  {told}\n{note}\n{block}\n"
    )


def summary(
    tape: Tape,
    version: str,
    script: str,
    exits: Sequence[Exit],
    *,
    host: str,
    binary: str = "/opt/conda/bin/python",
    site: str = SITE,
    launcher: str = LAUNCHER,
    killed: Sequence[int] = (),
) -> str:
    """Return the agent's summary of *exits*, first failure first; it closes the pids *killed*."""
    first = exits[0]
    local = first.rank if first.local < 0 else first.local
    error = f"failed (exitcode: {first.code}) local_rank: {local} (pid: {first.pid}) of binary: {binary}"
    lines: list[str] = []
    if version in _API_LINES:
        head = f"{tape.when('%m%d %H:%M:%S')}.{tape.rng.randrange(1000):03d}000 {tape.rng.randrange(4000, 90000)} torch/distributed/elastic/multiprocessing/api.py"
        lines += [
            f"W{head}:{_API_LINES[version] + 28}] Sending process {pid} closing signal SIGTERM"
            for pid in killed
        ]
        lines.append(f"E{head}:{_API_LINES[version]}] {error}")
    elif version in ("2.1", "2.2"):
        lines += [
            f"[{tape.milli()}] torch.distributed.elastic.multiprocessing.api: [WARNING] Sending process {pid} closing signal SIGTERM"
            for pid in killed
        ]
        lines.append(
            f"[{tape.milli()}] torch.distributed.elastic.multiprocessing.api: [ERROR] {error}"
        )
    else:
        lines += [
            f"WARNING:torch.distributed.elastic.multiprocessing.api:Sending process {pid} closing signal SIGTERM"
            for pid in killed
        ]
        lines.append(f"ERROR:torch.distributed.elastic.multiprocessing.api:{error}")
    lines.append(
        traceback(
            f"""
            {launcher}:8 <module> | sys.exit(main())
            @torch/distributed/elastic/multiprocessing/errors/__init__.py:346 wrapper | return f(*args, **kwargs)
            @torch/distributed/run.py:794 main | run(args)
            @torch/distributed/run.py:785 run | elastic_launch(
            @torch/distributed/launcher/api.py:134 __call__ | return launch_agent(self._config, self._entrypoint, list(args))
            @torch/distributed/launcher/api.py:250 launch_agent | raise ChildFailedError(
            """,
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
            site=site,
        )
    )
    lines += ["=" * 60, f"{script} FAILED", "-" * 60, "Failures:"]
    if exits[1:]:
        for at, one in enumerate(exits[1:], 1):
            lines += _failure(tape, at, one, host)
    else:
        lines.append("  <NO_OTHER_FAILURES>")
    lines += [
        "-" * 60,
        "Root Cause (first observed failure):",
        *_failure(tape, 0, first, host),
        "=" * 60,
    ]
    return "\n".join(lines)


def _failure(tape: Tape, at: int, one: Exit, host: str) -> list[str]:
    signals = {
        -6: "SIGABRT",
        -7: "SIGBUS",
        -9: "SIGKILL",
        -11: "SIGSEGV",
        -15: "SIGTERM",
        -2: "SIGINT",
    }
    told = (
        f"Signal {-one.code} ({signals[one.code]}) received by PID {one.pid}"
        if one.code < 0
        else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    )
    local = one.rank if one.local < 0 else one.local
    return [
        f"[{at}]:",
        f"  time      : {tape.when('%Y-%m-%d_%H:%M:%S')}",
        f"  host      : {host}",
        f"  rank      : {one.rank} (local_rank: {local})",
        f"  exitcode  : {one.code:<3d}(pid: {one.pid})"
        if one.code < 0
        else f"  exitcode  : {one.code} (pid: {one.pid})",
        "  error_file: <N/A>",
        f"  traceback : {told}",
    ]


def _head(tape: Tape, version: str, rank: int, line: int) -> str:
    if version in _GLOG:
        tape.wait(tape.rng.random() * 0.03)
        stamp = f"{tape.at.month}{tape.when('%d %H:%M:%S.%f')}{tape.rng.randrange(1000):03d}"
        return f"[rank{rank}]:[E{stamp} ProcessGroupNCCL.cpp:{line}]"
    if version == "2.3":
        return f"[rank{rank}]:[E ProcessGroupNCCL.cpp:{line}]"
    return f"[E ProcessGroupNCCL.cpp:{line}]"


def _frame(tape: Tape, at: int, name: str, file: str) -> str:
    return f"frame #{at}: {name} + 0x{tape.rng.randrange(64, 2**20):x} ({tape.address()} in {file})"
