"""Pools of idle machines: Grid Engine (SGE, UGE) and HTCondor, with their records of a job."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_tape import Tape, marked, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "Grid Engine man pages (sge_status, accounting, queue_conf) and execd messages, HTCondor manual and job event log formats"
_SITE = "/home/grid/venv/lib/python3.9/site-packages"
_ROOT = "/home/grid/dti"


def logs() -> Iterator[ComposedLog]:
    """Jobs of a biology department."""
    yield _hard_run_time()
    yield _address_space()
    yield _illegal_instruction()
    yield _output_not_to_be_written()
    yield _ungraded_labels()
    yield _evicted_by_the_owner()
    yield _over_the_requested_memory()
    yield _reconnection_failed()
    yield _input_not_transferred()
    yield _removed()
    yield _executable_of_macs()
    yield _signal_nine()
    yield _unknown_argument()
    yield _evicted_then_done()


def _qacct(
    job: int, name: str, *, failed: str, status: str, maxvmem: str, wall: str, cat: str
) -> str:
    pairs = (
        ("qname", "gpu.q"),
        ("hostname", "node-g03.bio"),
        ("group", "bio"),
        ("owner", "grid"),
        ("jobname", name),
        ("jobnumber", str(job)),
        ("taskid", "undefined"),
        ("priority", "0"),
        ("failed", failed),
        ("exit_status", status),
        ("ru_wallclock", wall),
        ("maxvmem", maxvmem),
        ("category", cat),
    )
    return "=" * 62 + "\n" + "\n".join(f"{key:<13}{value}" for key, value in pairs)


def _event(tape: Tape, number: int, text: str, *more: str, job: str = "2210117.000.000") -> str:
    head = f"{number:03d} ({job}) {tape.when('%Y-%m-%d %H:%M:%S')} {text}"
    return "\n".join([head, *("\t" + one for one in more), "..."])


def _fold(tape: Tape, first: int, last: int, folds: int = 5) -> None:
    for epoch in range(first, last + 1):
        tape.wait(77).say(
            f"fold 1/{folds} epoch {epoch:3d} | train mse {tape.near(0.9 / epoch**0.5, 0.03):.4f} | val mse {tape.near(1.0 / epoch**0.5, 0.03):.4f} | val ci {min(0.89, 0.6 + 0.02 * epoch):.3f} | {tape.near(76, 0.02):.1f} s"
        )


def _started(tape: Tape, host: str) -> None:
    tape.say(
        _event(
            tape,
            0,
            "Job submitted from host: <10.9.0.5:9618?addrs=10.9.0.5-9618&alias=sub.bio&noUDP&sock=schedd_1881_a2c1>",
        )
    )
    tape.wait(190).say(
        _event(
            tape,
            1,
            f"Job executing on host: <10.9.4.{len(host) + 3}:9618?addrs=10.9.4.{len(host) + 3}-9618&alias={host}&noUDP&sock=startd_2201_11d0>",
            f"SlotName: slot1_2@{host}",
            'CondorScratchDir = "/var/lib/condor/execute/dir_48121"',
            "Cpus = 4",
            "GPUs = 1",
            "Memory = 16384",
        )
    )


def _usage(sent: str = "18.4 M") -> list[str]:
    return [
        "\tUsr 0 01:20:44, Sys 0 00:02:10  -  Run Remote Usage",
        "\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Local Usage",
        f"1402  -  Run Bytes Sent By Job ({sent})",
        "88120112  -  Run Bytes Received By Job",
        "Partitionable Resources :    Usage  Request Allocated",
        "   Cpus                 :     3.11        4         4",
        "   Disk (KB)            :   912044  8388608   8912004",
        "   Memory (MB)          :     9120    16384     16384",
    ]


def _hard_run_time() -> ComposedLog:
    tape = Tape(4701, "2022-03-14 08:01:01")
    tape.say(
        "Warning: no access to tty (Bad file descriptor).", "Thus no job control in this shell."
    )
    _fold(tape, 1, 20)
    tape.say(
        "$ tail -n 2 /opt/sge/default/spool/node-g03/messages",
        "03/14/2022 08:31:02|  main|node-g03|W|job 6120447.1 exceeded hard wallclock time - initiate terminate method",
        "03/14/2022 08:31:02|  main|node-g03|I|SIGNAL jid: 6120447 jatask: 1 signal: KILL",
        "$ qacct -j 6120447",
        _qacct(
            6120447,
            "deepdta",
            failed="100 : assumedly after job",
            status="137                  (Killed)",
            maxvmem="21.402G",
            wall="1801s",
            cat="-l gpu=1,h_rt=1800,h_vmem=48G -pe smp 4",
        ),
    )
    return log(
        tape,
        "hard_run_time",
        "time_limit",
        137,
        _BASIS,
        command="qsub -l gpu=1,h_rt=0:30:0 dti.sh",
        why="the 137 is of the run time's end, by the messages of execd",
    )


def _address_space() -> ComposedLog:
    tape = Tape(4702, "2021-10-11 19:22:40")
    tape.say(
        "[W:onnxruntime] Init provider bridge failed.",
        "2021-10-11 19:22:58.312210: I tensorflow/stream_executor/platform/default/dso_loader.cc:53] Successfully opened dynamic library libcudart.so.11.0",
        traceback(
            """
            preprocess_train.py:60 <module> | graphs = [smile_to_graph(s) for s in smiles]
            preprocess_train.py:60 <listcomp> | graphs = [smile_to_graph(s) for s in smiles]
            preprocess_train.py:41 smile_to_graph | features = np.zeros((n, n, 78), dtype=np.float64)
            """,
            "MemoryError: Unable to allocate 1.22 GiB for an array with shape (1450, 1450, 78) and data type float64",
            root=_ROOT,
            site=_SITE,
        ),
        _qacct(
            5877012,
            "prep",
            failed="0",
            status="1",
            maxvmem="31.988G",
            wall="412s",
            cat="-l gpu=1,h_vmem=8G -pe smp 4",
        ),
    )
    return log(
        tape,
        "address_space",
        "host_oom",
        1,
        _BASIS + "; NumPy",
        command="qsub -l h_vmem=8G -pe smp 4 prep.sh",
        why="h_vmem bounds the address space: the allocation failed, nothing was killed",
    )


def _illegal_instruction() -> ComposedLog:
    tape = Tape(4703, "2022-09-02 14:41:12")
    tape.say(
        "host node-o11.bio, Opteron 6174, K40c",
        "import torch ... ok (1.12.1+cu102)",
        "import faiss ...",
        "/opt/sge/default/spool/node-o11/job_scripts/6301188: line 11: 30121 Illegal instruction     (core dumped) python train_retriever.py",
        _qacct(
            6301188,
            "retriever",
            failed="0",
            status="132                  (Illegal instruction)",
            maxvmem="4.110G",
            wall="9s",
            cat="-l gpu=1 -q gpu.q,old.q",
        ),
    )
    return log(
        tape,
        "illegal_instruction",
        "segfault",
        132,
        _BASIS,
        command="qsub -q gpu.q,old.q retriever.sh",
        paper_class="segfault",
    )


def _output_not_to_be_written() -> ComposedLog:
    tape = Tape(4704, "2022-05-05 09:00:11")
    tape.say(
        "$ qstat -j 6180220 | grep -E 'job_state|error reason'",
        "job_state             1:    Eqw",
        'error reason    1:          05/05/2022 09:00:10 [20114:31020]: error: can\'t open output file "/shared/results/dti/train.o6180220": Permission denied',
        "scheduling info:            Job is in error state",
        "$ ls -ld /shared/results/dti",
        "drwxr-x--- 2 nobody nogroup 4096 May  4 17:31 /shared/results/dti",
        "$ qacct -j 6180220",
        _qacct(
            6180220,
            "train",
            failed="26  : opening input/output file",
            status="0",
            maxvmem="0.000",
            wall="0s",
            cat="-l gpu=1",
        ),
    )
    return log(
        tape,
        "output_not_to_be_written",
        "permission",
        None,
        _BASIS,
        command="qsub -o /shared/results/dti train.sh",
        why="the job never started: its output file may not be opened in a root-squashed folder",
    )


def _ungraded_labels() -> ComposedLog:
    tape = Tape(4705, "2023-01-30 11:31:13")
    tape.say(
        "reading davis.csv (30,056 pairs)",
        traceback(
            """
            train.py:118 <module> | main(sys.argv)
            train.py:72 main | table = load(args.csv)
            dti/data.py:33 load | frame["affinity"] = frame["affinity"].astype("float32")
            @pandas/core/generic.py:6245 astype | new_data = self._mgr.astype(dtype=dtype, copy=copy, errors=errors)
            @pandas/core/dtypes/cast.py:1170 astype_nansafe | return arr.astype(dtype, copy=True)
            """,
            "ValueError: could not convert string to float: '>10000'",
            root=_ROOT,
            site=_SITE,
        ),
        _qacct(
            6550101, "davis", failed="0", status="1", maxvmem="1.920G", wall="7s", cat="-l gpu=1"
        ),
    )
    return log(
        tape,
        "ungraded_labels",
        "data",
        1,
        _BASIS + "; pandas",
        command="qsub davis.sh",
        paper_class="traceback",
        pandas="1.5.3",
    )


def _evicted_by_the_owner() -> ComposedLog:
    tape = Tape(4706, "2023-03-21 20:10:45")
    _started(tape, "desk-114.bio")
    tape.say("==> out/2210117.out <==")
    _fold(tape, 1, 14)
    tape.say(
        "==> log/2210117.log <==",
        _event(
            tape,
            4,
            "Job was evicted.",
            "(0) CPU times",
            "(0) Job was not checkpointed.",
            "\tUsr 0 00:17:20, Sys 0 00:00:31  -  Run Remote Usage",
            "0  -  Run Bytes Sent By Job",
            "88120112  -  Run Bytes Received By Job",
            "Partitionable Resources :    Usage  Request Allocated",
            "   Cpus                 :     2.90        4         4",
            "   GPUs                 :                 1         1",
            "   Memory (MB)          :     8810    16384     16384",
        ),
    )
    return log(
        tape,
        "evicted_by_the_owner",
        "preempted",
        None,
        _BASIS,
        command="condor_submit dti.sub",
        condor="10.0",
    )


def _over_the_requested_memory() -> ComposedLog:
    tape = Tape(4707, "2023-08-08 06:07:08")
    _started(tape, "gpu-2.bio")
    for gb in (2110, 5020, 9877, 14002, 16360):
        tape.wait(300).say(
            _event(
                tape,
                6,
                f"Image size of job updated: {gb * 1100}",
                f"{gb}  -  MemoryUsage of job (MB)",
                f"{gb * 1024}  -  ResidentSetSize of job (KB)",
            )
        )
    tape.say(
        _event(
            tape,
            12,
            "Job was held.",
            "Error from slot1_2@gpu-2.bio: Job has gone over cgroup memory limit of 16384 megabytes. Last measured usage: 16360 megabytes.  Consider resubmitting with a higher request_memory.",
            "Code 34 Subcode 102",
        ),
        "$ tail -n 2 out/2210117.out",
        "fold 1/5 graphs 118,000 of 210,000",
        "fold 1/5 graphs 119,000 of 210,000",
    )
    return log(
        tape,
        "over_the_requested_memory",
        "oom_killer",
        None,
        _BASIS,
        command="condor_submit dti.sub",
        condor="23.0",
        why="the starter killed it for memory and the hold says so",
    )


def _reconnection_failed() -> ComposedLog:
    tape = Tape(4708, "2022-12-19 23:40:00")
    _started(tape, "gpu-5.bio")
    tape.say("==> out/2210117.out <==")
    _fold(tape, 1, 9)
    tape.say("==> log/2210117.log <==")
    tape.wait(20).say(
        _event(
            tape,
            22,
            "Job disconnected, attempting to reconnect",
            "Socket between submit and execute hosts closed unexpectedly",
            "Trying to reconnect to slot1_2@gpu-5.bio <10.9.4.12:9618?addrs=10.9.4.12-9618&alias=gpu-5.bio>",
        )
    )
    tape.wait(2400).say(
        _event(
            tape,
            24,
            "Job reconnection failed",
            "Job disconnected too long: JobLeaseDuration (2400 seconds) expired",
            "Can not reconnect to slot1_2@gpu-5.bio, rescheduling job",
        ),
        "$ condor_status gpu-5.bio",
        "$ ping -c1 -W2 gpu-5.bio | tail -2",
        "1 packets transmitted, 0 received, 100% packet loss, time 0ms",
    )
    return log(
        tape,
        "reconnection_failed",
        "node_failure",
        None,
        _BASIS,
        command="condor_submit dti.sub",
        condor="10.2",
    )


def _input_not_transferred() -> ComposedLog:
    tape = Tape(4709, "2023-02-02 12:21:11")
    _started(tape, "gpu-1.bio")
    tape.say(
        _event(
            tape,
            12,
            "Job was held.",
            "Transfer input files failure at access point sub.bio while sending files to the execution point. Details: reading from file /home/grid/dti/data/kiba_v2.tar.zst: (errno 2) No such file or directory",
            "Code 13 Subcode 2",
        ),
        "$ condor_q 2210117 -af HoldReasonCode HoldReasonSubCode JobRunCount",
        "13 2 1",
    )
    return log(
        tape,
        "input_not_transferred",
        "file_not_found",
        None,
        _BASIS,
        command="condor_submit kiba.sub",
    )


def _removed() -> ComposedLog:
    tape = Tape(4710, "2023-04-27 16:00:00")
    _started(tape, "gpu-2.bio")
    tape.say("==> out/2210117.out <==")
    _fold(tape, 1, 6)
    tape.say(
        "==> err/2210117.err <==",
        "SIGTERM: leaving after this batch",
        "==> log/2210117.log <==",
        _event(tape, 9, "Job was aborted.", "via condor_rm (by user grid)"),
    )
    return log(tape, "removed", "cancelled", None, _BASIS, command="condor_submit dti.sub")


def _executable_of_macs() -> ComposedLog:
    tape = Tape(4711, "2023-06-06 10:10:10")
    _started(tape, "gpu-3.bio")
    tape.say(
        _event(
            tape,
            7,
            "Shadow exception!",
            "Error from slot1_2@gpu-3.bio: Failed to execute '/var/lib/condor/execute/dir_48121/condor_exec.exe' with arguments --epochs 40: (errno=8: 'Exec format error')",
            "0  -  Run Bytes Sent By Job",
            "7120448  -  Run Bytes Received By Job",
        ),
        _event(
            tape,
            12,
            "Job was held.",
            "Error from slot1_2@gpu-3.bio: Failed to execute '/var/lib/condor/execute/dir_48121/condor_exec.exe' with arguments --epochs 40: (errno=8: 'Exec format error')",
            "Code 6 Subcode 8",
        ),
        "$ file train_bundle",
        "train_bundle: Mach-O 64-bit executable arm64",
    )
    return log(
        tape,
        "executable_of_macs",
        "command_not_found",
        None,
        _BASIS,
        command="condor_submit bundle.sub",
        paper_class=None,
    )


def _signal_nine() -> ComposedLog:
    tape = Tape(4712, "2023-10-03 03:33:31")
    _started(tape, "gpu-4.bio")
    tape.say("==> out/2210117.out <==")
    _fold(tape, 1, 11)
    tape.say(
        "==> log/2210117.log <==",
        _event(
            tape,
            5,
            "Job terminated.",
            "(0) Abnormal termination (signal 9)",
            "(0) No core file",
            *_usage(),
        ),
    )
    return log(
        tape,
        "signal_nine",
        "killed_unknown",
        -9,
        _BASIS,
        command="condor_submit dti.sub",
        paper_class=None,
        why="9 of 16 GB used, no hold, no eviction: nobody says who",
    )


def _unknown_argument() -> ComposedLog:
    tape = Tape(4713, "2023-11-13 13:13:13")
    _started(tape, "gpu-2.bio")
    tape.say(
        "==> err/2210117.err <==",
        "usage: train.py [-h] --csv CSV [--epochs EPOCHS] [--lr LR] [--batch-size BATCH_SIZE]",
        "                [--fold FOLD] [--device DEVICE] [--out OUT]",
        "train.py: error: argument --fold: invalid int value: '$(Process)'",
        "==> log/2210117.log <==",
        _event(
            tape, 5, "Job terminated.", "(1) Normal termination (return value 2)", *_usage("0.0 M")
        ),
    )
    return log(
        tape,
        "unknown_argument",
        "config",
        2,
        _BASIS,
        command="condor_submit folds.sub",
        paper_class=None,
    )


def _evicted_then_done() -> ComposedLog:
    tape = Tape(4714, "2024-02-26 22:22:22")
    _started(tape, "desk-101.bio")
    tape.wait(3600).say(
        _event(
            tape,
            4,
            "Job was evicted.",
            "(0) CPU times",
            "(1) Job was checkpointed.",
            "\tUsr 0 00:58:01, Sys 0 00:01:00  -  Run Remote Usage",
        )
    )
    tape.wait(600).say(
        _event(
            tape,
            22,
            "Job disconnected, attempting to reconnect",
            "Socket between submit and execute hosts closed unexpectedly",
            "Trying to reconnect to slot1_2@gpu-1.bio <10.9.4.8:9618>",
        ),
        _event(
            tape,
            23,
            "Job reconnected to slot1_2@gpu-1.bio",
            "startd address: <10.9.4.8:9618>",
            "starter address: <10.9.4.8:9618>",
        ),
        "==> out/2210117.out <==",
        marked("", "restored checkpoint.pt (epoch 21) after SIGTERM of the last run"),
    )
    _fold(tape, 22, 40)
    tape.say(
        "test mse 0.2291 ci 0.878",
        "==> log/2210117.log <==",
        _event(tape, 5, "Job terminated.", "(1) Normal termination (return value 0)", *_usage()),
    )
    return log(
        tape,
        "evicted_then_done",
        "none",
        0,
        _BASIS,
        command="condor_submit +want_checkpoint dti.sub",
        why="one eviction and one lost connection, both made good",
    )
