"""A company's wrapper round each run: environment first, the run, then what the watch saw of the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.compose._cluster_blocks import dmesg, hung_task, log, oom_block, stamped
from corpus.compose._gpu_hosts import Card, smi, xid
from corpus.compose._gpu_tape import Tape, bar, marked, rank, traceback
from corpus.compose._gpu_torch import Exit, summary, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = "Linux kernel, NVIDIA driver, NFS and Lustre client messages, PyTorch elastic sources, pip freeze and df output"
_SITE = "/opt/train/lib/python3.11/site-packages"
_ROOT = "/opt/app"


def logs() -> Iterator[ComposedLog]:
    """Nightly runs; the report of the watch stands below each, whether it matters or not."""
    yield _swapped_to_death()
    yield _watch_saw_an_old_fault()
    yield _piped_away()
    yield _script_went_on()
    yield _lost_its_start()
    yield _remounted_but_written()
    yield _lustre_refused()
    yield _lock_of_a_dead_writer()
    yield _signal_of_the_drain()
    yield _timeout_of_the_wrapper()
    yield _one_rank_killed()
    yield _health_check_of_another()
    yield _hung_writer_came_back()
    yield _crash_in_the_decoder()


def _before(tape: Tape, host: str, command: str, *, cards: int = 2, table: bool = True) -> None:
    tape.say(
        f"##### nightly {tape.when('%Y-%m-%d')} host={host} start={tape.when('%H:%M:%S')}",
        f"##### command: {command}",
        "##### env: PYTHONFAULTHANDLER=1 TORCH_SHOW_CPP_STACKTRACES=0 OOM_POLICY=fail NCCL_IB_DISABLE=1",
        smi(
            tape,
            [
                Card(
                    "NVIDIA L40S", f"00000000:{0x41 + 0x40 * n:02X}:00.0", 1, 46068, 33 + n, 35, 350
                )
                for n in range(cards)
            ],
            driver="550.90.07",
            cuda="12.4",
        )
        if table
        else f"{cards} x NVIDIA L40S, driver 550.90.07",
        "torch==2.3.1  transformers==4.42.3  accelerate==0.31.0  exceptiongroup==1.2.1  faulthandler==builtin  retrying==1.3.4",
        "##### run",
    )


def _after(tape: Tape, code: int | str, watch: Sequence[str], free: str = "612G") -> None:
    tape.say(
        f"##### end={tape.when('%H:%M:%S')} rc={code}",
        "##### watch",
        *watch,
        "Filesystem      Size  Used Avail Use% Mounted on",
        f"/dev/nvme0n1p2  1.8T  1.1T  {free}  63% /",
        "tmpfs           252G  1.2G  251G   1% /dev/shm",
    )


def _steps(tape: Tape, first: int, last: int, every: int, seconds: float = 30) -> None:
    for at in range(first, last + 1, every):
        tape.wait(seconds).say(
            f"{tape.when('%H:%M:%S')} | {at:>6}/{last} | loss {tape.near(2.0 / (1 + at / last), 0.03):.4f} | gn {tape.near(0.8, 0.2):.2f} | {tape.near(812, 0.02):.0f} ex/s | err 0"
        )


def _swapped_to_death() -> ComposedLog:
    tape = Tape(5301, "2024-04-03 01:00:00")
    _before(tape, "n01", "python train.py --cache ram")
    _steps(tape, 200, 3000, 200)
    tape.say("/opt/app/run.sh: line 31: 44102 Killed                  python train.py --cache ram")
    _after(
        tape,
        137,
        [
            dmesg(
                tape,
                oom_block(
                    tape,
                    pid=44102,
                    rss_kb=498_120_112,
                    name="python",
                    task="/system.slice/nightly.service",
                    uid=990,
                    kernel="5.15.0-112-generic",
                    neighbours=(
                        (1311, "systemd-journal", 9120),
                        (2210, "node_exporter", 4401),
                        (44390, "pt_data_worker", 910_220),
                    ),
                ),
            )
        ],
    )
    return log(
        tape,
        "swapped_to_death",
        "oom_killer",
        137,
        _BASIS,
        command="python train.py --cache ram",
        why="the kernel's record names the pid that the shell saw killed",
    )


def _watch_saw_an_old_fault() -> ComposedLog:
    tape = Tape(5302, "2024-04-09 01:00:00")
    _before(tape, "n02", "torchrun --nproc_per_node 2 train.py")
    _steps(tape, 200, 2400, 200)
    tape.say(f"{tape.when('%H:%M:%S')} | done, best 0.9914 | model in /models/2024-04-09")
    _after(
        tape,
        0,
        [
            "(kernel messages of the last 7 days that match oom|xid|I/O error|hung)",
            stamped(
                tape,
                "Apr 04 03:%M:%S n02 kernel: ",
                [
                    xid(
                        "0000:81:00",
                        31,
                        "Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f1c_a8000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
                        pid=9311,
                    ),
                    *oom_block(
                        tape,
                        pid=9402,
                        rss_kb=210_112_004,
                        uid=990,
                        task="/system.slice/nightly.service",
                        short=True,
                    ),
                ],
            ),
        ],
    )
    return log(
        tape,
        "watch_saw_an_old_fault",
        "none",
        0,
        _BASIS,
        command="torchrun --nproc_per_node 2 train.py",
        why="what the kernel said was five days before this run",
    )


def _piped_away() -> ComposedLog:
    tape = Tape(5303, "2024-05-01 01:00:00")
    _before(tape, "n03", "python train.py 2>&1 | tee run.txt", table=False)
    tape.say(
        traceback(
            """
            train.py:140 <module> | main()
            train.py:61 main | data = load_from_disk(args.data)
            @datasets/load.py:2638 load_from_disk | raise FileNotFoundError(f"Directory {dataset_path} not found")
            """,
            "FileNotFoundError: Directory /data/nightly/2024-05-01 not found",
            root=_ROOT,
            site=_SITE,
        )
    )
    _after(tape, 0, ["nothing"])
    return log(
        tape,
        "piped_away",
        "file_not_found",
        0,
        _BASIS + "; datasets",
        command="python train.py 2>&1 | tee run.txt",
        why="the status is tee's, no work was done",
    )


def _script_went_on() -> ComposedLog:
    tape = Tape(5304, "2024-05-17 01:00:00")
    _before(tape, "n03", "bash nightly.sh", table=False)
    _steps(tape, 100, 1500, 100)
    tape.say(
        "Fatal Python error: Segmentation fault",
        "",
        "Thread 0x00007f0e3b7fe640 (most recent call first):",
        '  File "/opt/app/augment.py", line 77 in warp',
        '  File "/opt/app/augment.py", line 120 in __call__',
        "",
        "Current thread 0x00007f0f5a3c1740 (most recent call first):",
        '  File "/opt/app/train.py", line 88 in step',
        '  File "/opt/app/train.py", line 141 in <module>',
        "",
        "Extension modules: numpy.core._multiarray_umath, torch._C, cv2, warp_ext (total: 41)",
        "nightly.sh: line 12: 21109 Segmentation fault      (core dumped) python train.py",
        "publish: no new model found, keeping the one of 2024-05-16",
        "publish: OK",
    )
    _after(tape, 0, ["core.21109 4.1G"])
    return log(
        tape,
        "script_went_on",
        "segfault",
        0,
        _BASIS + "; CPython faulthandler",
        command="bash nightly.sh",
        paper_class="segfault",
        why="the script carried on after the crash; the training did not end",
    )


def _lost_its_start() -> ComposedLog:
    tape = Tape(5305, "2024-06-11 03:20:00")
    tape.say(
        "[... 8 MB left out ...]",
        f"ight=False)\n  warnings.warn(\n{bar('Training', 8112, 20000, 0.61)}",
    )
    for at in range(8200, 8700, 100):
        tape.say("\r" + bar("Training", at, 20000, 0.61, f", loss={tape.near(0.71, 0.05):.3f}"))
    tape.say(
        "ERROR | ckpt | write to /mnt/ckpt/nightly/step_8700 failed: [Errno 122] Disk quota exceeded",
        "ERROR | ckpt | retry 1: [Errno 122] Disk quota exceeded",
        "CRITICAL | main | no checkpoint could be written, giving up",
        bar("Training", 8700, 20000, 0.61),
    )
    _after(tape, 70, ["user nightly: block quota 2.0T of 2.0T on /mnt/ckpt"])
    return log(
        tape,
        "lost_its_start",
        "disk_full",
        70,
        _BASIS,
        command="python train.py --ckpt /mnt/ckpt/nightly",
        paper_class=None,
        why="a quota, told without a traceback",
    )


def _remounted_but_written() -> ComposedLog:
    tape = Tape(5306, "2024-06-20 01:00:00")
    _before(tape, "n04", "python train.py")
    _steps(tape, 100, 900, 100)
    tape.say(
        "WARNING | ckpt | /ckpt-a: [Errno 30] Read-only file system, falling back to /ckpt-b",
        "INFO | ckpt | wrote /ckpt-b/step_900",
    )
    _steps(tape, 1000, 2000, 100)
    tape.say("INFO | main | finished, exported /ckpt-b/final")
    _after(
        tape,
        0,
        [
            dmesg(
                tape,
                [
                    "XFS (sdb1): log I/O error -5",
                    "XFS (sdb1): Filesystem has been shut down due to log error (0x2).",
                    "XFS (sdb1): Please unmount the filesystem and rectify the problem(s).",
                ],
            )
        ],
    )
    return log(
        tape,
        "remounted_but_written",
        "none",
        0,
        _BASIS,
        command="python train.py",
        why="one disk failed, the other took the checkpoints, the run finished",
    )


def _lustre_refused() -> ComposedLog:
    tape = Tape(5307, "2024-07-07 01:00:00")
    _before(tape, "n05", "torchrun --nproc_per_node 2 train.py", cards=2)
    _steps(tape, 50, 600, 50)
    tape.say(
        rank(
            1,
            traceback(
                """
                train.py:141 <module> | main()
                train.py:97 main | sample = reader[index]
                reader.py:44 __getitem__ | return self.mm[offset : offset + length]
                """,
                "OSError: [Errno 5] Input/output error",
                root=_ROOT,
                site=_SITE,
            ),
        ),
        watchdog(tape, "2.3", 0, seq=2211, op="ALLREDUCE", numel=(8388608, 8388608)),
        summary(
            tape,
            "2.3",
            "train.py",
            [Exit(1, 1, 5102), Exit(0, -6, 5101)],
            host="n05",
            site=_SITE,
            binary="/opt/train/bin/python",
            launcher="/opt/train/bin/torchrun",
        ),
    )
    _after(
        tape,
        1,
        [
            dmesg(
                tape,
                [
                    "LustreError: 4120:0:(osc_request.c:2203:osc_brw_redo_request()) @@@ redo for recoverable error -110",
                    "Lustre: data-OST0003-osc-ffff8ac2: Connection to data-OST0003 (at 10.3.1.7@tcp) was lost; in progress operations using this service will fail",
                    "LustreError: 4127:0:(llite_mmap.c:411:ll_fault()) data: fault failed: rc = -5",
                ],
            )
        ],
    )
    return log(
        tape,
        "lustre_refused",
        "filesystem_io",
        1,
        _BASIS,
        command="torchrun --nproc_per_node 2 train.py",
        paper_class="traceback",
        why="rank 0 waited ten minutes for a rank that a read error had ended",
    )


def _lock_of_a_dead_writer() -> ComposedLog:
    tape = Tape(5308, "2024-07-21 01:00:00")
    _before(tape, "n01", "python train.py --resume")
    tape.say("INFO | cache | waiting for /mnt/cache/index.lock (held by pid 8110 on n07)")
    for minute in range(10, 121, 10):
        tape.wait(600).say(f"INFO | cache | still waiting for /mnt/cache/index.lock ({minute} min)")
    tape.say(
        "ERROR | watchdog | no step since the start, 120 min; stack of MainThread:",
        '  File "/opt/app/cache.py", line 58, in acquire',
        "    time.sleep(1.0)",
        '  File "/opt/app/cache.py", line 91, in open_index',
        "    with lock:",
        '  File "/opt/app/train.py", line 44, in main',
        "ERROR | watchdog | aborting the run",
    )
    _after(tape, 75, ["n07: pid 8110 does not exist"])
    return log(
        tape,
        "lock_of_a_dead_writer",
        "idle_hang",
        75,
        _BASIS,
        command="python train.py --resume",
        paper_class=None,
        why="the run waited for the lock of a process that no longer exists",
    )


def _signal_of_the_drain() -> ComposedLog:
    tape = Tape(5309, "2024-08-02 01:00:00")
    _before(tape, "n06", "python train.py")
    _steps(tape, 100, 1800, 100)
    tape.say(
        "WARNING | main | SIGTERM, stopping after this step",
        "INFO | main | stopped, last checkpoint is of step 1500",
    )
    _after(
        tape,
        143,
        [
            "host agent: 01:09:02 n06 marked for drain (kernel update), evicting 1 job",
            "host agent: 01:09:02 SIGTERM to nightly.service, 60 s grace",
        ],
    )
    return log(
        tape,
        "signal_of_the_drain",
        "preempted",
        143,
        _BASIS,
        command="python train.py",
        why="the agent's record says that the host was drained and the job evicted",
    )


def _timeout_of_the_wrapper() -> ComposedLog:
    tape = Tape(5310, "2024-08-19 01:00:00")
    _before(tape, "n02", "timeout --signal=INT 4h python train.py")
    _steps(tape, 1000, 24000, 1000, 597)
    tape.say(
        "Traceback (most recent call last):",
        '  File "/opt/app/train.py", line 141, in <module>',
        "    main()",
        '  File "/opt/app/train.py", line 102, in main',
        "    loss.backward()",
        "KeyboardInterrupt",
    )
    _after(tape, 124, ["nothing"])
    return log(
        tape,
        "timeout_of_the_wrapper",
        "time_limit",
        124,
        _BASIS + "; coreutils timeout",
        command="timeout --signal=INT 4h python train.py",
        paper_class="traceback",
        why="124 is timeout's own status: the interrupt was its, after four hours of progress",
    )


def _one_rank_killed() -> ComposedLog:
    tape = Tape(5311, "2024-09-05 01:00:00")
    _before(tape, "n07", "torchrun --nproc_per_node 2 train.py", table=False)
    _steps(tape, 100, 1300, 100)
    tape.say(
        summary(
            tape,
            "2.3",
            "train.py",
            [Exit(1, -9, 7702)],
            host="n07",
            site=_SITE,
            binary="/opt/train/bin/python",
            launcher="/opt/train/bin/torchrun",
            killed=(7701,),
        )
    )
    _after(
        tape,
        1,
        [
            "kernel messages: not readable by this user",
            "memory of the host at the end: 88 of 503 GB",
        ],
    )
    return log(
        tape,
        "one_rank_killed",
        "killed_unknown",
        1,
        _BASIS,
        command="torchrun --nproc_per_node 2 train.py",
        paper_class=None,
        why="SIGKILL and no record of who sent it",
    )


def _health_check_of_another() -> ComposedLog:
    tape = Tape(5312, "2024-09-30 01:00:00")
    _before(tape, "n08", "torchrun --nproc_per_node 2 train.py", table=False)
    tape.say(
        marked(
            "healthd: ",
            "n09 FAIL gpu1 uncorrectable ECC 2, drained (Xid 48, 63)\nn10 FAIL node unreachable, NODE_FAIL\nn08 PASS",
        )
    )
    _steps(tape, 200, 4000, 200)
    tape.say(f"{tape.when('%H:%M:%S')} | done, best 0.9920 | model in /models/2024-09-30")
    _after(tape, 0, ["nothing"])
    return log(
        tape,
        "health_check_of_another",
        "none",
        0,
        _BASIS,
        command="torchrun --nproc_per_node 2 train.py",
        why="the failed checks are of other nodes",
    )


def _hung_writer_came_back() -> ComposedLog:
    tape = Tape(5313, "2024-10-12 01:00:00")
    _before(tape, "n05", "python train.py", table=False)
    _steps(tape, 100, 700, 100)
    tape.wait(900).say("WARNING | ckpt | fsync took 902 s")
    _steps(tape, 800, 1600, 100)
    tape.say("INFO | main | finished")
    _after(
        tape,
        0,
        [
            dmesg(
                tape,
                [
                    "nfs: server filer2 not responding, still trying",
                    *hung_task(
                        "python",
                        6120,
                        [
                            "__schedule+0x2d1/0x870",
                            "schedule+0x55/0xf0",
                            "rpc_wait_bit_killable+0x11/0x70 [sunrpc]",
                            "nfs4_proc_getattr+0x9c/0x1d0 [nfsv4]",
                        ],
                        368,
                    ),
                    "nfs: server filer2 OK",
                ],
            )
        ],
    )
    return log(
        tape,
        "hung_writer_came_back",
        "none",
        0,
        _BASIS,
        command="python train.py",
        why="the server came back and the run went on to its end",
    )


def _crash_in_the_decoder() -> ComposedLog:
    tape = Tape(5314, "2024-11-03 01:00:00")
    _before(tape, "n04", "python train.py --video")
    _steps(tape, 10, 140, 10)
    tape.say(
        traceback(
            """
            train.py:141 <module> | main()
            train.py:92 main | batch = next(it)
            @torch/utils/data/dataloader.py:1133 _try_get_data | raise RuntimeError(f'DataLoader worker (pid(s) {pids_str}) exited unexpectedly') from e
            """,
            "RuntimeError: DataLoader worker (pid(s) 30117) exited unexpectedly",
            root=_ROOT,
            site=_SITE,
        )
    )
    _after(
        tape,
        1,
        [
            dmesg(
                tape,
                [
                    "pt_data_worker[30117]: segfault at 8 ip 00007f44a1c2f0b1 sp 00007ffd3b0a77f0 error 4 in libavcodec.so.58[7f44a1a00000+1c44000] likely on CPU 11 (core 11, socket 0)",
                    "Code: 48 89 e5 41 57 41 56 41 55 41 54 53 48 83 ec 38 <48> 8b 47 08",
                ],
            )
        ],
    )
    return log(
        tape,
        "crash_in_the_decoder",
        "segfault",
        1,
        _BASIS,
        command="python train.py --video",
        paper_class="segfault",
        why="the loader does not say how its worker left; the kernel names its pid and the library",
    )
