"""What schedulers, kernels and container engines print around a job."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from corpus.compose._gpu_tape import Tape, bar, traceback
from corpus.compose.composed_log import ComposedLog


def log(
    tape: Tape,
    name: str,
    cause: str,
    exit_code: int | None,
    basis: str,
    *,
    command: str = "",
    paper_class: str | None = ComposedLog.FOLLOWS,
    why: str = "",
    **versions: str,
) -> ComposedLog:
    """What *tape* holds, labelled."""
    return ComposedLog(
        name,
        cause,
        exit_code,
        tape.text(),
        basis,
        command=command,
        versions=versions,
        paper_class=paper_class,
        why=why,
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, rule: bool = True) -> str:
    """Columns set right, with ``----`` under their names, as ``sacct`` prints them."""
    wide = [
        max(len(one), *(len(row[at]) for row in rows), 8 if rule else 0)
        for at, one in enumerate(head)
    ]
    lines = [" ".join(one.rjust(wide[at]) for at, one in enumerate(head))]
    if rule:
        lines.append(" ".join("-" * one for one in wide))
    lines += [" ".join(one.rjust(wide[at]) for at, one in enumerate(row)) for row in rows]
    return "\n".join(lines)


def columns(rows: Sequence[Sequence[str]], gap: int = 3) -> str:
    """Columns set left, as ``kubectl get`` prints them."""
    wide = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        (" " * gap).join(one.ljust(wide[at]) for at, one in enumerate(row)).rstrip() for row in rows
    )


def events(rows: Sequence[tuple[str, str, str, str, str]]) -> str:
    """The ``Events`` of ``kubectl describe``: type, reason, age, from, message."""
    head = [
        ("Type", "Reason", "Age", "From", "Message"),
        ("----", "------", "----", "----", "-------"),
    ]
    return "Events:\n" + "\n".join(
        "  " + line for line in columns([*head, *rows], gap=2).split("\n")
    )


def sacct(rows: Sequence[Sequence[str]]) -> str:
    """``sacct`` with the columns JobID, JobName, State, ExitCode, MaxRSS, Elapsed, NodeList."""
    head = ("JobID", "JobName", "State", "ExitCode", "MaxRSS", "Elapsed", "NodeList")
    return table(head, rows)


def scontrol(
    tape: Tape, job: int | str, name: str, node: str, command: str, *, cards: int = 1
) -> str:
    """``scontrol show job`` of a job that has just begun, as job scripts like to print it."""
    begun = tape.when("%Y-%m-%dT%H:%M:%S")
    granted = f",gres/gpu={cards}" if cards else ""
    asked = f"TresPerNode=gres/gpu:{cards}" if cards else "MailUser=(null) MailType=NONE"
    return f"""
JobId={job} JobName={name}
   UserId=u51172(51172) GroupId=ml(5100) MCS_label=N/A
   Priority=4294{tape.rng.randrange(10**5):05d} Nice=0 Account=ml QOS=normal
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:00:01 TimeLimit=1-00:00:00 TimeMin=N/A
   SubmitTime={begun} EligibleTime={begun}
   AccrueTime={begun}
   StartTime={begun} EndTime=Unknown Deadline=N/A
   PreemptEligibleTime={begun} PreemptTime=None
   SuspendTime=None SecsPreSuspend=0 LastSchedEval={begun} Scheduler=Backfill
   Partition=gpu AllocNode:Sid=login1:{tape.rng.randrange(10**6)}
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList={node}
   BatchHost={node}
   NumNodes=1 NumCPUs=8 NumTasks=1 CPUs/Task=8 ReqB:S:C:T=0:0:*:*
   TRES=cpu=8,mem=64G,node=1,billing=8{granted}
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
   MinCPUsNode=8 MinMemoryNode=64G MinTmpDiskNode=0
   Features=(null) DelayBoot=00:00:00
   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
   Command={command}
   Power=
   KillOInInvalidDependent=No
   {asked}
"""


def lsf_trailer(
    tape: Tape,
    *,
    job: int,
    name: str,
    command: str,
    host: str,
    reason: str,
    cpu_s: float,
    memory_mb: int,
    run_s: int,
    user: str = "mlops",
    queue: str = "gpu_a100",
    work: str = "/gpfs/proj/mlops/vit",
    above: bool = True,
) -> str:
    """What LSF adds to a job's output; *reason* stands where the result is told.

    The output stands *above* it (LSB_STDOUT_DIRECT) or follows.
    """
    form = "%a %b %e %H:%M:%S %Y"
    begun = datetime.fromisoformat(tape.start)
    sent, ended = begun.strftime(form), (begun + timedelta(seconds=run_s)).strftime(form)
    where = "is above this job summary." if above else "follows:"
    return f"""
------------------------------------------------------------
Sender: LSF System <lsfadmin@{host}>
Subject: Job {job}: <{name}> in cluster <hydra> {"Done" if reason.startswith("Successfully") else "Exited"}

Job <{name}> was submitted from host <login02> by user <{user}> in cluster <hydra> at {sent}
Job was executed on host(s) <16*{host}>, in queue <{queue}>, as user <{user}> in cluster <hydra> at {sent}
</home/{user}> was used as the home directory.
<{work}> was used as the working directory.
Started at {sent}
Terminated at {ended}
Results reported at {ended}

Your job looked like:

------------------------------------------------------------
# LSBATCH: User input
{command}
------------------------------------------------------------

{reason}

Resource usage summary:

    CPU time :                                   {cpu_s:.2f} sec.
    Max Memory :                                 {memory_mb} MB
    Average Memory :                             {memory_mb * 0.83:.2f} MB
    Total Requested Memory :                     65536.00 MB
    Delta Memory :                               {65536 - memory_mb:.2f} MB
    Max Swap :                                   -
    Max Processes :                              21
    Max Threads :                                418
    Run time :                                   {run_s} sec.
    Turnaround time :                            {run_s + 47} sec.

The output (if any) {where}
"""


def oom_block(
    tape: Tape,
    *,
    pid: int,
    rss_kb: int,
    limit_kb: int = 0,
    group: str = "/slurm/uid_51172/job_5520113",
    task: str = "",
    name: str = "python",
    uid: int = 51172,
    kernel: str = "4.18.0-513.24.1.el8_9.x86_64",
    neighbours: Sequence[tuple[int, str, int]] = (),
    short: bool = False,
) -> list[str]:
    """The kernel's report of one kill, line by line, without times.

    *limit_kb* of 0 means that the machine itself ran out.  *neighbours* are pid, name and pages of
    the other processes in the list.
    """
    virtual = rss_kb + 21_483_520
    task = task or f"{group}/step_0/task_0"
    memcg = bool(limit_kb)
    head = [
        f"{name} invoked oom-killer: gfp_mask={'0xcc0(GFP_KERNEL)' if memcg else '0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP)'}, order=0, oom_score_adj=0",
        f"CPU: {tape.rng.randrange(64)} PID: {pid} Comm: {name} Kdump: loaded Tainted: P           OE    --------- -  - {kernel} #1",
        "Hardware name: Supermicro SYS-420GP-TNR/X12DPG-OA6, BIOS 1.4 07/11/2022",
        "Call Trace:",
        " dump_stack+0x41/0x60",
        " dump_header+0x4a/0x1df",
        " oom_kill_process.cold.33+0xb/0x10",
        " out_of_memory+0x1bd/0x4e0",
        *((" mem_cgroup_out_of_memory+0xe8/0x100", " try_charge+0x6b0/0x700") if memcg else ()),
        " __handle_mm_fault+0x7ca/0x7e0",
        " handle_mm_fault+0xc1/0x1e0",
        " do_user_addr_fault+0x1b9/0x450",
        " page_fault+0x1e/0x30",
        "RIP: 0033:0x7f1cb41d7e41",
    ]
    usage = [
        f"memory: usage {limit_kb}kB, limit {limit_kb}kB, failcnt {tape.rng.randrange(10**4, 10**6)}",
        "memory+swap: usage 0kB, limit 9007199254740988kB, failcnt 0",
        "kmem: usage 0kB, limit 9007199254740988kB, failcnt 0",
        f"Memory cgroup stats for {group}:",
        f"anon {rss_kb * 1024} file 57344 kernel_stack 4841472 pagetables 93696000 shmem 8192 inactive_anon 33280 workingset_refault 182734",
    ]
    tasks = [
        "Tasks state (memory values in pages):",
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
    ]
    for other, called, pages in (*neighbours, (pid, name, rss_kb // 4)):
        tasks.append(
            f"[{other:7d}] {uid:5d} {other:5d} {pages + 90211:8d} {pages:8d} {pages * 9 // 4096 * 4096 + 65536:14d}        0             0 {called}"
        )
    constraint = (
        f"constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg={group},task_memcg={task}"
        if memcg
        else f"constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg={task}"
    )
    end = [
        f"oom-kill:{constraint},task={name},pid={pid},uid={uid}",
        f"{'Memory cgroup out' if memcg else 'Out'} of memory: Killed process {pid} ({name}) total-vm:{virtual}kB, anon-rss:{rss_kb}kB, file-rss:{tape.rng.randrange(30000, 160000)}kB, shmem-rss:{tape.rng.randrange(8, 90) * 4}kB, UID:{uid} pgtables:{virtual // 470}kB oom_score_adj:0",
        f"oom_reaper: reaped process {pid} ({name}), now anon-rss:0kB, file-rss:{tape.rng.randrange(30000, 160000)}kB, shmem-rss:8kB",
    ]
    if short:
        return end
    return [*head, *(usage if memcg else []), *tasks, *end]


def hung_task(name: str, pid: int, frames: Sequence[str], seconds: int = 122) -> list[str]:
    """The kernel's report of a task that sleeps without end, line by line, without times."""
    return [
        f"INFO: task {name}:{pid} blocked for more than {seconds} seconds.",
        "      Tainted: P           OE    --------- -  - 4.18.0-477.27.1.el8_8.x86_64 #1",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
        f"task:{name:<15} state:D stack:    0 pid:{pid} ppid: {pid - 3} flags:0x00000080",
        "Call Trace:",
        *(f" {one}" for one in frames),
    ]


def killed_worker(
    pid: int, script: str, *, site: str, root: str, signal: str = "Killed", old: bool = False
) -> str:
    """A training loop that learns from its loader that worker *pid* was killed.

    *old* takes the lines of torch 1.13 instead of those of 2.5.
    """
    at = (628, 1316, 1282, 1120, 66) if old else (701, 1448, 1412, 1243, 73)
    return traceback(
        f"""
        {script}:212 <module> | main()
        {script}:187 main | train_one_epoch(model, loader, optimizer, epoch)
        {script}:121 train_one_epoch | for step, (images, target) in enumerate(loader):
        @torch/utils/data/dataloader.py:{at[0]} __next__ | data = self._next_data()
        @torch/utils/data/dataloader.py:{at[1]} _next_data | idx, data = self._get_data()
        @torch/utils/data/dataloader.py:{at[2]} _get_data | success, data = self._try_get_data()
        @torch/utils/data/dataloader.py:{at[3]} _try_get_data | data = self._data_queue.get(timeout=timeout)
        /usr/lib/python3.10/queue.py:180 get | self.not_empty.wait(remaining)
        /usr/lib/python3.10/threading.py:324 wait | gotit = waiter.acquire(True, timeout)
        @torch/utils/data/_utils/signal_handling.py:{at[4]} handler | _error_if_any_worker_fails()
        """,
        f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: {signal}. ",
        site=site,
        root=root,
    )


def trainer_steps(
    tape: Tape,
    steps: Sequence[int],
    total: int,
    *,
    loss: float = 2.1,
    seconds: float = 1.9,
    quoted: bool = False,
    norm: bool = True,
) -> str:
    """The Transformers trainer's bar and its dictionaries, the bar redrawn with carriage returns."""
    lines = []
    for at in steps:
        tape.wait(seconds * 10)
        value = tape.near(0.62 * loss + 0.38 * loss / (1 + 6 * at / total), 0.04)
        drawn = "\r".join(
            bar("", one, total, seconds) for one in (max(at - 5, 0), max(at - 1, 0), at)
        )
        lines.append(f"\r{drawn}")
        told: dict[str, object] = {
            "loss": round(value, 4),
            **({"grad_norm": round(tape.near(1.4, 0.5), 4)} if norm else {}),
            "learning_rate": float(f"{2e-5 * (1 - at / total):.4g}"),
            "epoch": round(3 * at / total, 2),
        }
        lines.append(str({key: str(one) for key, one in told.items()} if quoted else told))
    return "\n".join(lines)


def stamped(tape: Tape, form: str, lines: Sequence[str], *, gap: float = 0.2) -> str:
    """*lines*, each behind the clock's time in *form* (``%f`` has six digits)."""
    shown = []
    for line in lines:
        tape.wait(tape.rng.random() * gap)
        shown.append(f"{tape.when(form)}{line}")
    return "\n".join(shown)


def dmesg(tape: Tape, lines: Sequence[str], up: float = 1_723_941.0) -> str:
    """*lines* as ``dmesg`` prints them, *up* seconds after the start of the machine."""
    shown = []
    for line in lines:
        up += tape.rng.random() * 0.004
        shown.append(f"[{up:.6f}] {line}")
    return "\n".join(shown)
