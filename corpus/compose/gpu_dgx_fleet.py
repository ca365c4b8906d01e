"""A fleet of DGX H100 and B200 nodes: job output, node watcher, fabric manager and adapters together."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_hosts import Card, kernel, nccl_start, smi, steps, xid
from corpus.compose._gpu_tape import Tape, marked, mixed, rank, traceback
from corpus.compose._gpu_torch import Exit, cuda_error, heartbeat, summary, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = (
    "NVIDIA's Xid and fabric manager documents, DCGM, mlx5 driver, Slurm, NCCL and PyTorch sources"
)
_STEP = "{when} | {step:>7d} | loss {loss:.4f} | gnorm {norm:.3f} | {time:.3f}s | 8x8 | skipped 0 | nan 0"
_COMMAND = "launch --nodes 8 pretrain.py"


def logs() -> Iterator[ComposedLog]:
    """Links, switches, power and memory of the cards, and what only resembles them."""
    yield _peer_memory_over_nvlink()
    yield _fabric_not_ready_for_multicast()
    yield _fabric_manager_of_other_version()
    yield _over_temperature()
    yield _queue_pair_timed_out()
    yield _cable_event()
    yield _controller_halted()
    yield _diagnostic_before_start()
    yield _node_failure_with_a_reason()
    yield _stale_handle_of_one_rank()
    yield _hung_until_the_limit()
    yield _others_xid_in_a_good_run()
    yield _worker_memory_error_in_cascade()


def _start(tape: Tape, host: str, first: int = 0, world: int = 64) -> None:
    tape.say(
        f"{tape.when()} | launch | image train:25.02 driver 570.124.06 cuda 12.8 nccl 2.25.1 hosts 8 gpus {world}",
        f"{tape.when()} | launch | preflight: xid 0, ecc_uncorr 0, remap_pending 0, ib_ports 64/64 active, fabricmanager active",
        nccl_start(tape, host, (9001, 9002), version="2.25.1+cuda12.8", first=first, world=world),
    )
    tape.wait(90)


def _trace(frames: str, error: str) -> str:
    return traceback(
        frames, error, root="/opt/pretrain", site="/usr/local/lib/python3.12/dist-packages"
    )


_LOOP = """
pretrain.py:512 <module> | main()
pretrain.py:470 main | loop.run()
"""


def _peer_memory_over_nvlink() -> ComposedLog:
    tape = Tape(1801, "2025-07-03 17:19:31")
    _start(tape, "dgx-31", 24)
    tape.say(steps(tape, _STEP, range(65000, 65070, 5), seconds=31, loss=2.0, floor=1.9))
    tape.wait(905)
    told = [
        rank(
            at,
            _trace(
                _LOOP + "loop.py:208 run | torch.cuda.synchronize()",
                cuda_error(
                    "2.7", "Invalid access of peer GPU memory over nvlink or a hardware error"
                ),
            ),
        )
        for at in (25, 24, 30)
    ]
    tape.say(mixed(tape, *told))
    tape.say(
        summary(
            tape,
            "2.7",
            "pretrain.py",
            [Exit(25, 1, 9002, 1), Exit(24, 1, 9001, 0), Exit(30, 1, 9007, 6)],
            host="dgx-31",
        ),
        "node-watcher dgx-31: nvlink error counters unchanged, no xid visible from the container",
    )
    return ComposedLog(
        "peer_memory_over_nvlink",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.7.1"},
        paper_class="runtime_error",
        why="CUDA_ERROR_CONTAINED: the link or the peer's memory",
    )


def _fabric_not_ready_for_multicast() -> ComposedLog:
    tape = Tape(1802, "2025-01-03 09:12:00")
    tape.say(f"{tape.when()} | launch | preflight skipped (--no-preflight)")
    for at in range(4):
        tape.say(
            f"gpu46:{78360 + at}:{78490 + at} [{at}] transport/nvls.cc:244 NCCL WARN Cuda failure 802 'system not yet initialized'",
            f"gpu46:{78360 + at}:{78490 + at} [{at}] NCCL INFO transport/nvls.cc:394 -> 1",
            f"gpu46:{78360 + at}:{78490 + at} [{at}] NCCL INFO init.cc:1198 -> 1",
        )
    tape.say(
        rank(
            0,
            _trace(
                _LOOP + "loop.py:41 __init__ | dist.barrier()",
                "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 802 'system not yet initialized'",
            ),
        ),
        "$ nvidia-smi -q -i 0 | grep -A 3 Fabric\n    Fabric\n        State                             : In Progress\n        Status                            : N/A",
        "$ journalctl -u nvidia-fabricmanager -n 3\nJan 03 08:50:12 gpu46 nv-fabricmanager[3120]: NVSwitch port 33 of physical id 2: NVLink access training failed, GPU 6 excluded\nJan 03 08:50:12 gpu46 nv-fabricmanager[3120]: detected NVSwitch fatal error 20034 on fid:0 on NVSwitch pci bus id:00000000:06:00.0 physical id:2 port:33\nJan 03 08:50:13 gpu46 systemd[1]: nvidia-fabricmanager.service: Main process exited, code=exited, status=1/FAILURE",
    )
    return ComposedLog(
        "fabric_not_ready_for_multicast",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc-per-node 8 pretrain.py --no-preflight",
        versions={"torch": "2.5.1"},
        paper_class="traceback",
        why="under NCCL's error stands a switch that failed",
    )


def _fabric_manager_of_other_version() -> ComposedLog:
    tape = Tape(1803, "2024-11-12 07:30:44")
    tape.say(
        smi(tape, [Card(bus=f"00000000:{bus}:00.0") for bus in ("1B", "43", "52", "61")]),
        "/usr/local/lib/python3.12/dist-packages/torch/cuda/__init__.py:129: UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 802: system not yet initialized (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)\n  return torch._C._cuda_getDeviceCount() > 0",
        _trace(
            _LOOP + "pretrain.py:77 setup | torch.cuda.set_device(local_rank)",
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 802: system not yet initialized",
        ),
        "$ systemctl status nvidia-fabricmanager | tail -3\nNov 12 05:02:10 dgx-08 nv-fabricmanager[2411]: fabric manager NVIDIA GPU driver interface version 550.54.15 don't match with driver version 550.90.07. Please update with matching NVIDIA driver package.\nNov 12 05:02:10 dgx-08 systemd[1]: nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE\nNov 12 05:02:10 dgx-08 systemd[1]: Failed to start NVIDIA fabric manager service.",
    )
    return ComposedLog(
        "fabric_manager_of_other_version",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python pretrain.py",
        versions={"torch": "2.5.0", "driver": "550.90.07"},
        paper_class="runtime_error",
        why="nothing is broken: the service and the driver are of different versions",
    )


def _over_temperature() -> ComposedLog:
    tape = Tape(1804, "2024-08-06 14:10:20")
    _start(tape, "dgx-12")
    tape.say(steps(tape, _STEP, range(100, 900, 50), seconds=60))
    tape.say(
        "node-watcher dgx-12: gpu 3 temperature 88C, HW Slowdown: Active, HW Thermal Slowdown: Active",
        "node-watcher dgx-12: gpu 3 temperature 93C, sm clock 345 MHz",
    )
    tape.wait(50).say(
        rank(
            3,
            _trace(_LOOP + "loop.py:188 run | loss.backward()", cuda_error("2.4", "unknown error")),
        ),
        "node-watcher dgx-12: ipmitool sel: 08/06/2024 | 14:31:02 | Temperature GPU3_TEMP | Upper Non-critical going high | Asserted",
        "node-watcher dgx-12: ipmitool sel: 08/06/2024 | 14:32:40 | Temperature GPU3_TEMP | Upper Non-recoverable going high | Asserted",
        kernel(
            tape,
            "dgx-12",
            xid("0000:61:00", 79, "GPU has fallen off the bus.", pid=9004),
            "pciehp 0000:5d:01.0:pcie204: Slot(3): Link Down",
            "pciehp 0000:5d:01.0:pcie204: Slot(3): Card not present",
        ),
    )
    tape.wait(600).say(
        *(watchdog(tape, "2.4", at, seq=40211, numel=(8388608, 8388608)) for at in (0, 6))
    )
    return ComposedLog(
        "over_temperature",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS + "; IPMI",
        command=_COMMAND,
        versions={"torch": "2.4.1"},
        paper_class="runtime_error",
    )


def _queue_pair_timed_out() -> ComposedLog:
    tape = Tape(1805, "2025-02-20 10:22:09")
    tape.say(f"{tape.when()} | launch | image train:25.02, NCCL_IB_GID_INDEX=3 NCCL_CROSS_NIC=1")
    for at in (0, 5):
        tape.say(
            f"b200-{at:02d}:61{at}0:6190 [{at}] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_{at}:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.20.{at}.4, remote GID ::ffff:10.20.{at}.9",
            f"b200-{at:02d}:61{at}0:6190 [{at}] NCCL INFO transport/net_ib.cc:1102 -> 2\nb200-{at:02d}:61{at}0:6190 [{at}] NCCL INFO proxy.cc:1485 -> 2",
            f"b200-{at:02d}:61{at}0:6190 [{at}] proxy.cc:1652 NCCL WARN [Proxy Service {at}] Failed to execute operation Connect from rank {at}, retcode 2",
        )
    tape.say(
        rank(
            5,
            _trace(
                _LOOP + "loop.py:44 __init__ | dist.all_reduce(torch.ones(1, device=device))",
                "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:77, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.25.1\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\nCall to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_5:1, curr state INIT, next state RTR, local GID index 3",
            ),
        ),
        summary(
            tape, "2.6", "pretrain.py", [Exit(5, 1, 6150)], host="b200-05", killed=[6145, 6146]
        ),
    )
    return ComposedLog(
        "queue_pair_timed_out",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.6.0", "nccl": "2.25.1"},
        paper_class="nccl",
    )


def _cable_event() -> ComposedLog:
    tape = Tape(1806, "2025-04-11 03:33:33")
    _start(tape, "dgx-44", 8)
    tape.say(steps(tape, _STEP, range(2000, 4000, 200), seconds=240))
    tape.say(
        "dgx-44:9003:9120 [2] NCCL INFO NET/IB : mlx5_2:1 Got async event : port error",
        "dgx-44:9003:9120 [2] transport/net_ib.cc:112 NCCL WARN NET/IB : mlx5_2:1 Got async event : port error",
        "dgx-44:9003:9188 [2] transport/net_ib.cc:2040 NCCL WARN NET/IB: Got completion from peer 10.20.2.9<40123> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129 req_type=Send localGid fe80::a288:c203:1b:2f0c remoteGids fe80::a288:c203:1b:30aa hca mlx5_2",
        rank(
            10,
            "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, remote process exited or there was a network error, NCCL version 2.25.1\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nNET/IB: Got completion from peer 10.20.2.9<40123> with status=IBV_WC_RETRY_EXC_ERR(12)",
        ),
        "node-watcher dgx-44:",
        kernel(
            tape,
            "dgx-44",
            "mlx5_core 0000:5e:00.0: Port module event: module 0, Cable unplugged",
            "mlx5_core 0000:5e:00.0 ibp94s0: Link down",
            "infiniband mlx5_2: port 1 state changed ACTIVE -> DOWN",
        ),
    )
    tape.wait(600).say(heartbeat(tape, "2.6", 3))
    return ComposedLog(
        "cable_event",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.6.0"},
        paper_class="nccl",
        why="the adapter's cable, not a card: the group's network failed",
    )


def _controller_halted() -> ComposedLog:
    tape = Tape(1807, "2024-12-17 22:44:10")
    _start(tape, "dgx-05", 32)
    tape.say(steps(tape, _STEP, range(10000, 12000, 250), seconds=330))
    tape.wait(600)
    for at in (32, 33, 38):
        tape.say(
            watchdog(
                tape, "2.5", at, seq=51240, op="_REDUCE_SCATTER_BASE", numel=(67108864, 1048576)
            )
        )
    tape.say(
        summary(
            tape,
            "2.5",
            "pretrain.py",
            [Exit(32, -6, 9001, 0), Exit(38, -6, 9007, 6), Exit(33, -6, 9002, 1)],
            host="dgx-05",
        ),
        "node-watcher dgx-05: nvidia-smi timed out after 60 s",
        kernel(
            tape,
            "dgx-05",
            xid("0000:9a:00", 62, "32a6(3d7c) 00000000 00000000", pid=9006),
            xid("0000:9a:00", 45, "Ch 00000008, errorString CTX SWITCH TIMEOUT", pid=9006),
            xid(
                "0000:9a:00",
                109,
                "Ch 00000018, errorString CTX SWITCH TIMEOUT, Info 0x54c005",
                pid=9006,
            ),
            "INFO: task nvidia-smi:71204 blocked for more than 120 seconds.",
        ),
        "node-watcher dgx-05: cordoned, reason gpu5 internal micro-controller halt",
    )
    return ComposedLog(
        "controller_halted",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.5.1"},
        paper_class=None,
        why="Xid 62 under the time-outs: the card's own controller",
    )


def _diagnostic_before_start() -> ComposedLog:
    tape = Tape(1808, "2025-05-19 05:00:02")
    tape.say(
        f"{tape.when()} | launch | preflight on dgx-20: dcgmi diag -r 2",
        "Successfully ran diagnostic for group.\n+---------------------------+------------------------------------------------+\n| Diagnostic                | Result                                         |\n+===========================+================================================+\n|-----  Deployment  --------+------------------------------------------------|\n| Denylist                  | Pass                                           |\n| NVML Library              | Pass                                           |\n| CUDA Main Library         | Pass                                           |\n| Permissions and OS Blocks | Pass                                           |\n| Page Retirement/Row Remap | Fail                                           |\n| Warning                   | GPU 2 GPU 2 had uncorrectable memory errors a  |\n|                           | nd row remapping failed. Run a field diagnost  |\n|                           | ic on the GPU.                                 |\n+-----  Hardware  ----------+------------------------------------------------+\n| GPU Memory                | Pass - GPUs: 0, 1, 3, 4, 5, 6, 7               |\n|                           | Fail - GPU: 2                                  |\n+-----  Integration  -------+------------------------------------------------+\n| PCIe                      | Pass - All                                     |\n+---------------------------+------------------------------------------------+",
        f"{tape.when()} | launch | preflight failed on 1 of 8 hosts, no spare host left, training not started",
    )
    return ComposedLog(
        "diagnostic_before_start",
        "gpu_hardware",
        226,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"dcgm": "3.3.9"},
        paper_class=None,
    )


def _node_failure_with_a_reason() -> ComposedLog:
    tape = Tape(1809, "2025-06-08 20:00:50")
    _start(tape, "dgx-02", 16)
    tape.say(steps(tape, _STEP, range(300, 1500, 100), seconds=100))
    tape.say(
        "srun: error: Node failure on dgx-02",
        "slurmstepd: error: *** STEP 71022.0 ON dgx-01 CANCELLED AT 2025-06-08T20:24:15 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        "srun: error: dgx-01: tasks 0-7: Killed",
        "$ sinfo -R -n dgx-02\nREASON               USER      TIMESTAMP           NODELIST\nXid 94 on gpu1, DBE  slurm     2025-06-08T20:23:31 dgx-02",
        "$ grep dgx-02 /var/log/slurmctld.log | tail -2\n[2025-06-08T20:23:31.412] update_node: node dgx-02 reason set to: Xid 94 on gpu1, DBE\n[2025-06-08T20:23:31.412] Killing JobId=71022 on failed node dgx-02",
    )
    return ComposedLog(
        "node_failure_with_a_reason",
        "gpu_hardware",
        None,
        tape.text(),
        _BASIS,
        command="srun -N8 pretrain.sh",
        versions={"torch": "2.6.0"},
        paper_class=None,
        why="the node was set down because of its card: the deeper reason is in the record",
    )


def _stale_handle_of_one_rank() -> ComposedLog:
    tape = Tape(1810, "2024-09-13 01:01:30")
    _start(tape, "dgx-17", 40)
    tape.say(steps(tape, _STEP, range(700, 1700, 100), seconds=100))
    tape.say(
        rank(
            43,
            _trace(
                _LOOP
                + """
loop.py:140 run | batch = next(self.batches)
data/bins.py:66 __getitem__ | os.preadv(self.fd, [buffer], offset)
""",
                "OSError: [Errno 116] Stale file handle",
            ),
        ),
        kernel(
            tape,
            "dgx-17",
            "NFS: server nas2 error: fileid changed\nfsid 0:58: expected fileid 0x2a11, got 0x2b90",
        ),
    )
    tape.wait(600).say(
        mixed(
            tape,
            *(
                watchdog(
                    tape,
                    "2.4",
                    at,
                    seq=7002,
                    op="_ALLGATHER_BASE",
                    numel=(262144, 16777216),
                    stack=at == 44,
                )
                for at in (40, 44, 47)
            ),
        ),
        summary(
            tape,
            "2.4",
            "pretrain.py",
            [
                Exit(44, -6, 9005, 4),
                Exit(40, -6, 9001, 0),
                Exit(43, 1, 9004, 3),
                Exit(47, -6, 9008, 7),
            ],
            host="dgx-17",
        ),
    )
    return ComposedLog(
        "stale_handle_of_one_rank",
        "filesystem_io",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.4.0"},
        paper_class="traceback",
        why="the file server's stale handle came first, the time-outs ten minutes later",
    )


def _hung_until_the_limit() -> ComposedLog:
    tape = Tape(1811, "2025-03-01 00:00:12")
    _start(tape, "dgx-33")
    tape.say(steps(tape, _STEP, range(50, 650, 50), seconds=50))
    tape.say(
        f"{tape.when()} | TORCH_NCCL_ASYNC_ERROR_HANDLING=0: errors are reported, processes are kept"
    )
    tape.wait(1801)
    for at in (0, 1, 2, 4, 5, 6, 7):
        tape.say(
            watchdog(
                tape, "2.6", at, seq=2204, numel=(33554432, 33554432), timeout_ms=1800000
            ).split("\n")[0]
        )
    tape.say(
        "node-watcher dgx-33: gpu util 100% on 0-2,4-7, 0% on 3; no xid; rank 3 in poll(), no output since 00:12"
    )
    tape.wait(20000).say(
        "slurmstepd: error: *** JOB 70114 ON dgx-33 CANCELLED AT 2025-03-01T06:00:31 DUE TO TIME LIMIT ***",
        "slurmstepd: error: *** STEP 70114.0 ON dgx-33 CANCELLED AT 2025-03-01T06:00:31 DUE TO TIME LIMIT ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
    )
    return ComposedLog(
        "hung_until_the_limit",
        "collective",
        143,
        tape.text(),
        _BASIS,
        command="srun -t 6:00:00 pretrain.sh",
        versions={"torch": "2.6.0"},
        paper_class="nccl",
        why="hung in a collective for five hours before the limit ended it",
    )


def _others_xid_in_a_good_run() -> ComposedLog:
    tape = Tape(1812, "2025-08-01 11:00:00")
    _start(tape, "dgx-09")
    tape.say(steps(tape, _STEP, range(1000, 4000, 250), seconds=90, loss=2.2, floor=1.8))
    tape.say(
        "node-watcher dgx-09: xid 43 pid=55120 name=jupyter gpu 7 (not of this job)",
        "node-watcher dgx-09: gpu 2 correctable row remap recorded (Xid 63 informational), remap pending: No",
        kernel(
            tape,
            "dgx-09",
            xid("0000:e4:00", 43, "Ch 00000010", pid=55120, name="jupyter"),
            "mlx5_core 0000:9a:00.0: Port module event[error]: module 0, Cable error, High Temperature",
        ),
        steps(tape, _STEP, range(4000, 6001, 250), seconds=90, loss=1.9, floor=1.7),
        f"{tape.when()} | launch | 6000 of 6000 steps, final loss 1.7551, checkpoint verified, 0 restarts, exit codes {{0: 64}}",
        "dcgmi health -c: Overall Health: Warning (PCIe replay counter 11 on gpu 6)",
    )
    return ComposedLog(
        "others_xid_in_a_good_run",
        "none",
        0,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.7.0"},
        paper_class=None,
        why="another program's Xid and warnings of the node beside a run that reached its end",
    )


def _worker_memory_error_in_cascade() -> ComposedLog:
    tape = Tape(1813, "2024-10-21 18:30:00")
    _start(tape, "dgx-28", 48)
    tape.say(steps(tape, _STEP, range(10, 130, 10), seconds=70))
    tape.say(
        rank(
            52,
            _trace(
                _LOOP + "loop.py:151 run | self.cache[key] = np.concatenate(parts)",
                "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 71.2 GiB for an array with shape (9556302336,) and data type int64",
            ),
        ),
        mixed(
            tape,
            *(
                marked(
                    "",
                    f"dgx-28:{9001 + at}:{9130 + at} [{at}] misc/socket.cc:71 NCCL WARN socketProgress: Connection closed by remote peer dgx-28<51{at}20>\ndgx-28:{9001 + at}:{9130 + at} [{at}] NCCL INFO misc/socket.cc:863 -> 6",
                )
                for at in (3, 5)
            ),
        ),
        rank(
            51,
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, remote process exited or there was a network error, NCCL version 2.25.1\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
        ),
        summary(
            tape,
            "2.5",
            "pretrain.py",
            [Exit(51, 1, 9004, 3), Exit(52, 1, 9005, 4)],
            host="dgx-28",
            killed=[9001, 9002, 9003],
        ),
    )
    return ComposedLog(
        "worker_memory_error_in_cascade",
        "host_oom",
        1,
        tape.text(),
        _BASIS + "; NumPy",
        command=_COMMAND,
        versions={"torch": "2.5.1"},
        paper_class="ram_oom",
        why="NumPy's allocation failed on rank 52 before its peers lost it",
    )
