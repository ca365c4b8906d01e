"""The words of schedulers, clouds and launchers about the end of a run."""

from __future__ import annotations

import pytest

from gpualert_common.classify import Resolution, Scanner, load_rules, resolve
from gpualert_common.model import ExitFacts

RULES = load_rules()
STEPS = "".join(f"step {number}/500 loss {9 / number:.3f}\n" for number in range(1, 40))
SLURM = "slurmstepd: error: *** JOB 5 ON n7 CANCELLED AT 2026-11-20T10:00:00 DUE TO {} ***\n"
SUBMITIT = (
    "submitit WARNING (2026-02-11 10:12:44,300) - Caught signal SIGUSR1 on n7: this job is {}.\n"
)
REQUEUED = "submitit INFO - Requeued job 64742619 (3 remaining timeouts)\n"
FORKED = (
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
    "multiprocessing, you must use the 'spawn' start method"
)
WATCHDOG = (
    "[rank0]:[E1120 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600021 milliseconds before timing out.\n"
)
C10D = "/site-packages/torch/distributed"


def raised(*frames: str, script: str = "train.py") -> str:
    """Return a traceback of *script* up to its last frame."""
    lines = [f'  File "{script}", line 9, in <module>\n    main()\n']
    for file, _, function in (one.partition(":") for one in frames):
        lines.append(f'  File "{file}", line 3, in {function}\n    x()\n')
    return "Traceback (most recent call last):\n" + "".join(lines)


def prefixed(text: str) -> str:
    """Return *text* with the prefix of a worker process in front of its lines."""
    return "".join(f"(VllmWorkerProcess pid=77) {line}\n" for line in text.splitlines())


INIT = raised(f"{C10D}/distributed_c10d.py:init_process_group", f"{C10D}/rendezvous.py:_env")
IN_USE = (
    "The server socket has failed to listen on any local network address. The server socket has "
    "failed to bind to [::]:29500 (errno: 98 - Address already in use).\n"
)

LOGS: dict[str, tuple[str, int | None, str]] = {
    "job that will be retried": (
        "Job interrupted: capacity was reclaimed by the provider; attempt 1 will be retried\n",
        1,
        "preempted",
    ),
    "spot node of EC2": (
        "WARNING spot instance-action: stop at 2026-11-20T10:02:00Z\n",
        1,
        "preempted",
    ),
    "SageMaker": ("SecondaryStatus: Interrupted\nSpot instance interrupted\n", 1, "preempted"),
    "Google's metadata": ("instance/preempted changed to TRUE\n", 143, "preempted"),
    "Azure": ("Scheduled event received: Preempt NotBefore: Tue, 24 Nov 2026\n", 1, "preempted"),
    "Azure ML": ("Low priority node was preempted, the job is queued again\n", 1, "preempted"),
    "Vertex": ("The replica workerpool0-0 was preempted and will be restarted.\n", 1, "preempted"),
    "Run:ai": ("Workload preempted: quota reclaimed by project vision\n", 143, "preempted"),
    "Volcano": (
        "Warning  Evict  volcano  Pod ml/t-0 is evicted, because of preempt\n",
        143,
        "preempted",
    ),
    "Determined, and status 0": (
        "Preemption signal received from the master; checkpointing and exiting\n",
        0,
        "preempted",
    ),
    "spot notice before the lost node": (
        (
            "SpotInterruption  node/n7  Spot Interruption event received.\n"
            "Warning  NodeNotReady  pod/t-0  Node is not ready\n"
        ),
        None,
        "preempted",
    ),
    "preempted because the node failed": (
        "job 81 was preempted because its node failed\n",
        1,
        "node_failure",
    ),
    "lost node, then a requeue": (
        SLURM.format("NODE FAILURE") + "Requeued job 5\n",
        -15,
        "node_failure",
    ),
    "HTCondor": ("    Can not reconnect to slot1@n7, rescheduling job\n", None, "node_failure"),
    "LSF": ("Job <812> is requeued: the execution host n7 is down\n", None, "node_failure"),
    "PBS": ("PBS: job requeued, mom on node n7 is down\n", None, "node_failure"),
    "pod without its node": ("message: 'PodGC: node no longer exists'\n", 1, "node_failure"),
    "requeued at its limit": (
        "handling auto-requeue signal: 10\nrequeing job 5...\n" + SLURM.format("TIME LIMIT"),
        -15,
        "time_limit",
    ),
    "submitit at its limit": (
        SUBMITIT.format("timed-out") + REQUEUED,
        -15,
        "time_limit",
    ),
    "submitit, preempted": (
        SUBMITIT.format("preempted") + REQUEUED,
        -15,
        "preempted",
    ),
    "handler of a signal before the limit": (
        "Caught SIGUSR1: 90 s before the time limit, saving a checkpoint\nscontrol requeue 812\n",
        0,
        "time_limit",
    ),
    "port in use, in submitit": (
        raised("/site-packages/submitit/core/core.py:result", script="launch.py")
        + "submitit.core.utils.FailedJobError: Job (task=0) failed during processing with trace:\n"
        "----------------------\n"
        + INIT
        + "RuntimeError: "
        + IN_USE
        + "\n----------------------\n",
        1,
        "rendezvous",
    ),
    "port in use, in ray": (
        "ray.exceptions.RayTaskError(DistNetworkError): ray::Worker.init() (pid=12, ip=10.0.0.2)\n"
        + INIT.partition("\n")[2]
        + "torch.distributed.DistNetworkError: "
        + IN_USE,
        1,
        "rendezvous",
    ),
    "refused connection": (
        INIT + "ConnectionRefusedError: [Errno 111] Connection refused\n",
        1,
        "rendezvous",
    ),
    "coordination service of JAX": (
        raised("/site-packages/jax/_src/distributed.py:initialize")
        + "jaxlib._jax.XlaRuntimeError: UNAVAILABLE: failed to connect to all addresses\n",
        1,
        "rendezvous",
    ),
    "second program misses the result of the first": (
        raised(script="tokenize_all.py")
        + "OSError: [Errno 28] No space left on device\n== stage 2\n"
        + raised("train.py:load")
        + "FileNotFoundError: [Errno 2] No such file or directory: 'data/tok.bin'\n",
        1,
        "disk_full",
    ),
    "first program was tolerated": (
        raised(script="fetch.py")
        + "FileNotFoundError: [Errno 2] No such file or directory: '/cache/x'\n== stage 2\n"
        + raised("train.py:step")
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.\n",
        1,
        "cuda_oom",
    ),
    "Ctrl-C, and a crash at shutdown": (
        "^C" + raised("train.py:step") + "KeyboardInterrupt\n"
        "terminate called without an active exception\nAborted (core dumped)\n",
        134,
        "cancelled",
    ),
    "Ctrl-C in a run that waits for a failed worker": (
        prefixed(raised("worker.py:init") + FORKED)
        + "^C"
        + raised("train.py:wait")
        + "KeyboardInterrupt\n",
        130,
        "runtime_error",
    ),
    "NVLink before the watchdog": (
        "[ 812.1] NVRM: Xid (PCI:0000:4f:00): 74, pid=812, NVLink: fatal error detected on link 3\n"
        + WATCHDOG,
        -6,
        "gpu_hardware",
    ),
    "ECC before the watchdog": (
        "[ 812.1] NVRM: Xid (PCI:0000:4f:00): 48, pid=812, Double Bit ECC Error\n" + WATCHDOG,
        -6,
        "gpu_hardware",
    ),
    "a supervisor that measures silence": (
        "no output for 1800 s, killing the job\n",
        1,
        "idle_hang",
    ),
}


def resolve_log(log: str, code: int | None) -> Resolution:
    """Return the resolution of a log of a training with an exit status."""
    scanner = Scanner(RULES, "output.log")
    scanner.feed((STEPS + log).encode(), 0)
    return resolve([scanner.finish()], ExitFacts(code), RULES)


@pytest.mark.parametrize("name", LOGS)
def test_cause(name: str) -> None:
    """The words about the end lead to the cause that an operator of the cluster would name."""
    log, code, cause = LOGS[name]
    assert resolve_log(log, code).cause == cause


@pytest.mark.parametrize(
    "words",
    [
        "PS: 1 earlier attempt ended with TERM_PREEMPT: job killed after preemption.\n",
        "time limit reached, the best model of 12 is kept\n",
        "spot price: 0.12\n",
    ],
)
def test_run_that_ended_well(words: str) -> None:
    """A word about a stop does not turn a run that ended with 0 into a failure."""
    assert resolve_log(words, 0).cause == "none"


def test_notice_after_the_last_step() -> None:
    """A notice that comes when the training is through stops nothing."""
    log = "step 500/500 loss 0.018\nPreemption signal received, exiting\n"
    assert resolve_log(log, 0).cause == "none"
