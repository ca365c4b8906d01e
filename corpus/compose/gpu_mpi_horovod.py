"""mpirun and horovodrun over GPU nodes: Open MPI, UCX, Horovod, nccl-tests, HPC containers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.compose._gpu_hosts import nccl_start
from corpus.compose._gpu_tape import Tape, marked, mixed, traceback
from corpus.compose._gpu_torch import cuda_error, oom
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of Open MPI (orterun's messages), UCX, Horovod, nccl-tests and PyTorch"
_LINE = "-" * 74


def logs() -> Iterator[ComposedLog]:
    """Ranks that leave, transports that fail, launchers that cannot start, good runs."""
    yield _rank_out_of_memory()
    yield _transport_retry_count()
    yield _horovod_stalled()
    yield _not_enough_slots()
    yield _remote_daemon_absent()
    yield _segfault_in_ucx()
    yield _system_not_ready()
    yield _misaligned_in_rank_three()
    yield _nccl_tests_passed()
    yield _open_files_of_many_ranks()
    yield _horovod_elastic_recovered()
    yield _killed_nine_in_one_rank()


def _said(rank: int, text: str, stream: str = "stderr") -> str:
    return marked(f"[1,{rank}]<{stream}>:", text)


def _exited(rank: int, code: int, job: int = 31077) -> str:
    return (
        "--------------------------------------------------------------------------\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n"
        f"{_LINE}\n{_LINE}\nmpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process to do so was:\n\n"
        f"  Process name: [[{job},1],{rank}]\n  Exit code:    {code}\n{_LINE}"
    )


def _signal(host: str, rank: int, pid: int, number: int, name: str) -> str:
    return f"{_LINE}\nmpirun noticed that process rank {rank} with PID {pid} on node {host} exited on signal {number} ({name}).\n{_LINE}"


def _steps(tape: Tape, ranks: Sequence[int], numbers: Sequence[int]) -> None:
    if not numbers[0]:
        pids = [6100, 6101][: len(ranks)]
        started = nccl_start(tape, "gn01", pids, net="Socket" if len(ranks) > 2 else "IB", world=4)
        tape.say(_said(ranks[0], started, "stdout"))
    for at in numbers:
        tape.wait(9)
        tape.say(
            *(
                _said(
                    rank,
                    f"epoch 1 [{at}/2502] loss {tape.near(5.1 / (1 + at / 900), 0.04):.4f} img/s {tape.near(410, 0.03):.1f}",
                    "stdout",
                )
                for rank in ranks
            )
        )


def _trace(frames: str, error: str) -> str:
    return traceback(
        frames, error, root="/opt/bench", site="/usr/local/lib/python3.8/dist-packages"
    )


def _rank_out_of_memory() -> ComposedLog:
    tape = Tape(1101, "2022-09-13 12:00:10")
    _steps(tape, (0, 1), range(0, 200, 50))
    tape.say(
        mixed(
            tape,
            _said(
                3,
                _trace(
                    "imagenet.py:210 <module> | main()\nimagenet.py:150 main | loss.backward()\n@torch/_tensor.py:363 backward | torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)",
                    oom(
                        "1.10",
                        "392.00 MiB",
                        gpu=3,
                        total="15.78 GiB",
                        free="311.19 MiB",
                        used="14.22 GiB",
                        allocated="13.60 GiB",
                    ),
                ),
            ),
            *(
                _said(
                    at,
                    _trace(
                        "imagenet.py:210 <module> | main()\nimagenet.py:151 main | optimizer.step()\n@horovod/torch/optimizer.py:269 step | self.synchronize()\n@horovod/torch/mpi_ops.py:910 synchronize | raise HorovodInternalError(e)",
                        "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce, allgather or broadcast a tensor after one of the ranks finished execution. If the shutdown was caused by an exception, you should see the exception in the log before the first shutdown message.",
                    ),
                )
                for at in (0, 2)
            ),
        ),
        _exited(0, 1),
    )
    return ComposedLog(
        "rank_out_of_memory",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="mpirun -np 4 --tag-output python imagenet.py",
        versions={"torch": "1.10.2", "horovod": "0.23.0"},
        why="rank 3 first; the others were shut down by it",
    )


def _transport_retry_count() -> ComposedLog:
    tape = Tape(1102, "2023-11-20 03:12:00")
    _steps(tape, (0, 8), range(600, 900, 100))
    tape.say(
        _said(
            8,
            "[1700449951.204410] [gn12:20117:0]      ib_mlx5_log.c:171  UCX  ERROR Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)\n[1700449951.204432] [gn12:20117:0]      ib_mlx5_log.c:171  UCX  ERROR RC QP 0x1b4e wqe[731]: SEND --e [inl len 26] [rqpn 0x1a90 dlid=41 sl=0 port=1 src_path_bits=0]",
        ),
        _said(
            8,
            "[gn12:20117] *** An error occurred in MPI_Allreduce\n[gn12:20117] *** reported by process [2036662273,8]\n[gn12:20117] *** on communicator MPI COMMUNICATOR 3 DUP FROM 0\n[gn12:20117] *** MPI_ERR_INTERN: internal error\n[gn12:20117] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n[gn12:20117] ***    and potentially your MPI job)",
        ),
        '[gn11:31002] 3 more processes have sent help message help-mpi-errors.txt / mpi_errors_are_fatal\n[gn11:31002] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages',
    )
    return ComposedLog(
        "transport_retry_count",
        "collective",
        17,
        tape.text(),
        _BASIS,
        command="mpirun -np 16 -hostfile hosts --tag-output python imagenet.py",
        versions={"openmpi": "4.1.4", "ucx": "1.13"},
        paper_class="nccl",
    )


def _horovod_stalled() -> ComposedLog:
    tape = Tape(1103, "2021-08-30 22:10:09")
    _steps(tape, (0,), range(0, 300, 50))
    for late in (60, 120, 180, 600):
        tape.wait(60 if late < 600 else 420)
        tape.say(
            _said(
                0,
                f"[{tape.when()}.118021: W /opt/horovod/horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than {late} seconds. This may indicate that different ranks are trying to submit different tensors or that only subset of ranks is submitting tensors, which will cause deadlock. \nMissing ranks:\n2: [allreduce.grad.layer4.2.conv3.weight, allreduce.grad.fc.bias, allreduce.grad.fc.weight ...]",
            )
        )
    tape.say(
        _said(
            0,
            f"[{tape.when()}.920111: E /opt/horovod/horovod/common/operations.cc:655] One or more rank (marked by ranks in the log above) has been stalled for more than 600 seconds. Will shutdown.",
        ),
        _said(
            0,
            "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce, allgather or broadcast a tensor after one of the ranks finished execution.",
        ),
        _exited(0, 1, 40112),
    )
    return ComposedLog(
        "horovod_stalled",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command="HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=600 mpirun -np 4 python imagenet.py",
        versions={"horovod": "0.22.1"},
        paper_class="nccl",
    )


def _not_enough_slots() -> ComposedLog:
    tape = Tape(1104, "2024-02-20 14:00:00")
    tape.say(
        "+ cat hosts\ngn11 slots=4\ngn12 slots=4\n+ mpirun -np 16 -hostfile hosts python imagenet.py",
        f'{_LINE}\nThere are not enough slots available in the system to satisfy the 16\nslots that were requested by the application:\n\n  python\n\nEither request fewer slots for your application, or make more slots\navailable for use.\n\nA "slot" is the Open MPI term for an allocatable unit where we can\nlaunch a process.  The number of slots available are defined by the\nenvironment in which Open MPI processes are run:\n\n  1. Hostfile, via "slots=N" clauses (N defaults to number of\n     processor cores if not provided)\n  2. The --host command line parameter, via a ":N" suffix on the\n     hostname (N defaults to 1 if not provided)\n  3. Resource manager (e.g., SLURM, PBS/Torque, LSF, etc.)\n  4. If none of a hostfile, the --host command line parameter, or an\n     RM is present, Open MPI defaults to the number of processor cores\n{_LINE}',
    )
    return ComposedLog(
        "not_enough_slots",
        "config",
        1,
        tape.text(),
        _BASIS,
        command="mpirun -np 16 -hostfile hosts python imagenet.py",
        versions={"openmpi": "4.1.5"},
        paper_class=None,
        why="the launcher's own count does not fit its host file",
    )


def _remote_daemon_absent() -> ComposedLog:
    tape = Tape(1105, "2024-02-21 14:10:00")
    tape.say(
        "bash: orted: command not found",
        f"{_LINE}\nORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n\n* not finding the required libraries and/or binaries on\n  one or more nodes. Please check your PATH and LD_LIBRARY_PATH\n  settings, or configure OMPI with --enable-orterun-prefix-by-default\n\n* lack of authority to execute on one or more specified nodes.\n  Please verify your allocation and authorities.\n\n* the inability to write startup files into /tmp (--tmpdir/orte_tmpdir_base).\n  Please check with your sys admin to determine the correct location to use.\n\n* compilation of the orted with dynamic libraries when static are required\n  (e.g., on Cray). Please check your configure cmd line and consider using\n  one of the contrib/platform definitions for your system type.\n\n* an inability to create a connection back to mpirun due to a\n  lack of common network interfaces and/or no route found between\n  them. Please check network connectivity (including firewalls\n  and network routing requirements).\n{_LINE}",
    )
    return ComposedLog(
        "remote_daemon_absent",
        "command_not_found",
        127,
        tape.text(),
        _BASIS,
        command="mpirun -np 8 -hostfile hosts python imagenet.py",
        versions={"openmpi": "4.1.5"},
        paper_class=None,
        why="the remote shell has no orted; the rest is the launcher's list of guesses",
    )


def _segfault_in_ucx() -> ComposedLog:
    tape = Tape(1106, "2023-05-23 19:19:44")
    _steps(tape, (0, 1, 2, 3), range(0, 100, 50))
    tape.say(
        _said(
            2,
            "[gn01:6102:0:6290] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x7f1c00000008)\n==== backtrace (tid:   6290) ====\n 0 0x0000000000014140 __funlockfile()  ???:0\n 1 0x00000000000a1f2e ucs_callbackq_slow_proxy()  ???:0\n 2 0x0000000000038f6a ucp_worker_progress()  ???:0\n 3 0x0000000000002b1c mca_pml_ucx_progress()  ???:0\n 4 0x00000000000347fc opal_progress()  ???:0\n 5 0x00000000000c5c71 horovod::common::MPIController::RecvReadyTensors()  ???:0\n=================================",
        ),
        _said(
            2,
            "[gn01:6102] *** Process received signal ***\n[gn01:6102] Signal: Segmentation fault (11)\n[gn01:6102] Signal code:  (-6)\n[gn01:6102] Failing at address: 0x3e8000017d6\n[gn01:6102] *** End of error message ***",
        ),
        _signal("gn01", 2, 6102, 11, "Segmentation fault"),
    )
    return ComposedLog(
        "segfault_in_ucx",
        "segfault",
        139,
        tape.text(),
        _BASIS,
        command="mpirun -np 4 --tag-output python imagenet.py",
        versions={"ucx": "1.12", "openmpi": "4.1.2"},
    )


def _system_not_ready() -> ComposedLog:
    tape = Tape(1107, "2024-06-12 08:00:09")
    tape.say(
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices",
        "dgx05: Test CUDA failure common.cu:891 'system not yet initialized'\n .. dgx05 pid 9211: Test failure common.cu:845",
        "dgx05: Test CUDA failure common.cu:891 'system not yet initialized'\n .. dgx05 pid 9212: Test failure common.cu:845",
        _exited(0, 2, 50551),
        "+ systemctl status nvidia-fabricmanager --no-pager",
        "x nvidia-fabricmanager.service - NVIDIA fabric manager service\n     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled; vendor preset: enabled)\n     Active: failed (Result: exit-code) since Wed 2024-06-12 06:41:55 UTC; 1h 18min ago\n    Process: 2877 ExecStart=/usr/bin/nv-fabricmanager -c /usr/share/nvidia/nvswitch/fabricmanager.cfg (code=exited, status=1/FAILURE)\nJun 12 06:41:55 dgx05 nv-fabricmanager[2879]: detected NVSwitch fatal error 12028 on fid:0 on NVSwitch pci bus id:00000000:C6:00.0 physical id:9 port:31\nJun 12 06:41:55 dgx05 kernel: nvidia-nvswitch4: SXid (PCI:0000:c6:00.0): 12028, Fatal, Link 31 egress non-posted PRIV error (First)",
    )
    return ComposedLog(
        "system_not_ready",
        "gpu_hardware",
        2,
        tape.text(),
        _BASIS + "; NVIDIA's fabric manager guide",
        command="mpirun -np 8 all_reduce_perf -b 8 -e 8G -f 2",
        versions={"nccl-tests": "2.13.9"},
        paper_class=None,
        why="the fabric manager ended on a fatal NVSwitch error, so no CUDA program can start",
    )


def _misaligned_in_rank_three() -> ComposedLog:
    tape = Tape(1108, "2024-12-06 21:40:35")
    _steps(tape, (0, 3), range(0, 150, 50))
    tape.say(
        _said(
            3,
            _trace(
                "imagenet.py:210 <module> | main()\nimagenet.py:144 main | out = model(images)\nops/window.py:33 forward | return window_ext.shift(x, self.window, self.shift)",
                cuda_error("2.4", "misaligned address"),
            ),
        ),
        mixed(
            tape,
            *(
                _said(
                    at,
                    f"gn01:{6100 + at}:{6190 + at} [{at}] misc/socket.cc:47 NCCL WARN socketProgress: Connection closed by remote peer gn01.ib<52171>\ngn01:{6100 + at}:{6190 + at} [{at}] NCCL INFO misc/socket.cc:58 -> 6",
                )
                for at in (0, 1, 2)
            ),
        ),
        _said(
            0,
            "terminate called after throwing an instance of 'std::runtime_error'\n  what():  ncclCommGetAsyncError failed: remote process exited or there was a network error",
        ),
        _signal("gn01", 0, 6100, 6, "Aborted"),
    )
    return ComposedLog(
        "misaligned_in_rank_three",
        "cuda_runtime",
        134,
        tape.text(),
        _BASIS,
        command="mpirun -np 4 --tag-output python imagenet.py",
        versions={"torch": "2.4.1"},
        why="mpirun names the rank that aborted on it, not the one whose kernel failed",
    )


def _nccl_tests_passed() -> ComposedLog:
    tape = Tape(1109, "2025-03-03 10:00:00")
    tape.say(
        f"{_LINE}\nWARNING: There was an error initializing an OpenFabrics device.\n\n  Local host:   gn11\n  Local device: mlx5_bond_0\n{_LINE}",
        "[gn11:01520] 15 more processes have sent help message help-mpi-btl-openib.txt / error in device init",
        "# nThread 1 nGpus 1 minBytes 1024 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
        + "\n".join(
            f"#  Rank {at:2d} Group  0 Pid {1520 + at:6d} on gn{11 + at // 8} device  {at % 8} [0x{0x1B + at % 8 * 0x11:02x}] NVIDIA H100 80GB HBM3"
            for at in range(16)
        ),
        "gn12:1530:1601 [2] init.cc:1725 NCCL WARN NCCL_P2P_LEVEL set by environment to SYS; this may hang or fail on some platforms",
        "#\n#                                                              out-of-place                       in-place          \n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
        "\n".join(
            f"{2**at:12d}  {2**at // 4:12d}     float     sum      -1  {tape.near(28 + 2**at / 2.5e5):7.1f}  {2**at / 1e6:6.2f}  {2**at / 6e5:6.2f}      0  {tape.near(27 + 2**at / 2.5e5):7.1f}  {2**at / 1e6:6.2f}  {2**at / 6e5:6.2f}      0"
            for at in range(10, 28)
        ),
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 142.913 \n#",
    )
    return ComposedLog(
        "nccl_tests_passed",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="mpirun -np 16 -hostfile hosts all_reduce_perf -b 1k -e 8G -f 2",
        versions={"nccl-tests": "2.13.10"},
    )


def _open_files_of_many_ranks() -> ComposedLog:
    tape = Tape(1110, "2022-04-25 16:42:12")
    _steps(tape, (0,), range(0, 100, 50))
    tape.say(
        _said(
            5,
            _trace(
                "imagenet.py:210 <module> | main()\nimagenet.py:139 main | for images, target in loader:\n@torch/multiprocessing/reductions.py:362 reduce_storage | fd, size = storage._share_fd_cpu_()",
                "RuntimeError: unable to open shared memory object </torch_5512_1097345112_981> in read-write mode: Too many open files (24)",
            ),
        ),
        _said(5, "OSError: [Errno 24] Too many open files"),
        _said(
            1,
            "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce, allgather or broadcast a tensor after one of the ranks finished execution.",
        ),
        _exited(5, 1, 9120),
    )
    return ComposedLog(
        "open_files_of_many_ranks",
        "too_many_files",
        1,
        tape.text(),
        _BASIS,
        command="mpirun -np 8 --tag-output python imagenet.py",
        versions={"torch": "1.11.0", "horovod": "0.24.2"},
        paper_class="runtime_error",
    )


def _horovod_elastic_recovered() -> ComposedLog:
    tape = Tape(1111, "2022-12-17 00:20:31")
    tape.say(
        *(
            f"[{at}]<stdout>:epoch {epoch} loss {3.1 - epoch * 0.2:.3f}"
            for epoch in range(4)
            for at in (0, 1)
        )
    )
    tape.say(
        "[1]<stderr>:gpu-3:881:990 [1] misc/socket.cc:523 NCCL WARN Net : Connection closed by remote peer gpu-4.lan<40812>",
        "[0]<stderr>:[E /opt/horovod/horovod/common/operations.cc:678] Horovod background loop uncaught exception: NCCL error: remote process exited",
        "WARNING:root:blacklist failing host: gpu-4",
        "[0]<stdout>:HorovodInternalError caught, restoring last committed state (epoch 3, batch 812)",
        "INFO:root:rank 0 reassigned; world size 4 -> 3",
        *(
            f"[{at}]<stdout>:epoch {epoch} loss {3.1 - epoch * 0.2:.3f}"
            for epoch in range(4, 10)
            for at in (0, 1)
        ),
        "[0]<stdout>:finished 10 epochs, top-1 0.7611",
    )
    return ComposedLog(
        "horovod_elastic_recovered",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="horovodrun -np 4 --min-np 2 --host-discovery-script hosts.sh python elastic.py",
        versions={"horovod": "0.26.1"},
        why="the host was left out, the state restored, ten epochs of ten done",
    )


def _killed_nine_in_one_rank() -> ComposedLog:
    tape = Tape(1112, "2023-03-14 09:26:53")
    _steps(tape, (0, 1), range(0, 250, 50))
    tape.say(
        _said(
            1,
            "gn01:6101:6190 [1] misc/socket.cc:503 NCCL WARN Net : Call to recv from 10.4.17.21<45123> failed : Connection reset by peer",
        ),
        _signal("gn01", 2, 6102, 9, "Killed"),
    )
    return ComposedLog(
        "killed_nine_in_one_rank",
        "killed_unknown",
        137,
        tape.text(),
        _BASIS,
        command="mpirun -np 4 --tag-output python imagenet.py",
        versions={"openmpi": "4.1.4"},
    )
