"""Slurm jobs on A100 and V100 nodes, with the kernel log, the epilog and the scheduler beside them."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_hosts import Card, kernel, nccl_start, smi, steps, xid
from corpus.compose._gpu_tape import Tape, marked, traceback
from corpus.compose._gpu_torch import cuda_error, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = (
    "NVIDIA's Xid catalogue and driver messages, Linux kernel and Slurm sources, PyTorch sources"
)
_STEP = "[{when}] iter {step:>6d} | loss {loss:.3f} | lr {lr:.2e} | {time:.2f} s/it | mem 71.3G"


def logs() -> Iterator[ComposedLog]:
    """Lost cards, NVLink, ECC, and what only looks like them."""
    yield _fell_off_the_bus()
    yield _nvlink_fatal()
    yield _contained_ecc()
    yield _row_remap_at_start()
    yield _xid_13_beside_illegal_access()
    yield _xid_31_and_ecc_counters_clean()
    yield _cgroup_killed_one_task()
    yield _node_lost()
    yield _handle_unknown()
    yield _time_limit_while_training()
    yield _finished_with_corrected_errors()
    yield _gsp_timeout()


def _head(tape: Tape, job: int, nodes: str, tasks: int) -> None:
    tape.say(
        f"== job {job} on {nodes}, {tasks} tasks, started {tape.when()}",
        "== modules: cuda/12.2 gcc/11.3 openmpi/4.1.5  env: NCCL_DEBUG=WARN NCCL_IB_TIMEOUT=22 SLURM_KILL_BAD_EXIT=1 PYTHONFAULTHANDLER=1",
        "== python pretrain.py --config conf/vit_l.yaml --resume auto --abort-on-nan --max-errors 0",
    )


def _fell_off_the_bus() -> ComposedLog:
    tape = Tape(201, "2024-04-16 22:31:07")
    _head(tape, 884213, "a100-[014-015]", 8)
    tape.say(steps(tape, _STEP, range(500, 7500, 500), seconds=620))
    tape.wait(212).say(
        marked(
            "6: ",
            traceback(
                """
                pretrain.py:318 <module> | run(cfg)
                pretrain.py:271 run | train_one_epoch(state, loader)
                pretrain.py:204 train_one_epoch | scaler.scale(loss).backward()
                @torch/_tensor.py:492 backward | torch.autograd.backward(
                @torch/autograd/__init__.py:251 backward | Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
                """,
                cuda_error("2.1", "unspecified launch failure"),
            ),
        )
    )
    for at in (0, 3, 7):
        tape.say(marked(f"{at}: ", watchdog(tape, "2.1", at, seq=90412, numel=(7077888, 7077888))))
    tape.say(
        "slurmstepd: error: *** STEP 884213.0 ON a100-014 CANCELLED AT 2024-04-17T00:58:12 ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "srun: error: a100-015: task 6: Exited with exit code 1",
        "srun: error: a100-014: tasks 0,3: Aborted (core dumped)",
        "== epilog: last kernel messages of a100-015",
        kernel(
            tape,
            "a100-015",
            "pcieport 0000:c0:01.1: DPC: containment event, status:0x1f01 source:0x0000",
            "pcieport 0000:c0:01.1: AER: Uncorrected (Fatal) error received: 0000:c0:01.1",
            xid("0000:c7:00", 79, "GPU has fallen off the bus.", pid=39112),
            "NVRM: GPU 0000:c7:00.0: GPU has fallen off the bus.",
            "NVRM: GPU 0000:c7:00.0: GPU serial number is 1564720004631.",
            xid(
                "0000:c7:00",
                154,
                "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            ),
        ),
    )
    return ComposedLog(
        "fell_off_the_bus",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS,
        command="sbatch -N2 --gres=gpu:4 pretrain.sbatch",
        versions={"torch": "2.1.0"},
        paper_class="runtime_error",
        why="the launch failure is what the program saw of Xid 79 in the epilog",
    )


def _nvlink_fatal() -> ComposedLog:
    tape = Tape(202, "2024-07-09 03:15:40")
    _head(tape, 901177, "a100-022", 8)
    pids = list(range(51021, 51029))
    tape.say(nccl_start(tape, "a100-022", pids[:2], world=8, version="2.18.5+cuda12.1"))
    tape.say(steps(tape, _STEP, range(100, 900, 100), seconds=130))
    tape.wait(40).say(
        f"a100-022:{pids[2]}:51190 [2] include/alloc.h:193 NCCL WARN Cuda failure 'uncorrectable NVLink error detected during the execution'",
        f"a100-022:{pids[2]}:51190 [2] NCCL INFO transport/p2p.cc:431 -> 1",
        marked(
            "2: ",
            traceback(
                """
                pretrain.py:318 <module> | run(cfg)
                pretrain.py:271 run | train_one_epoch(state, loader)
                pretrain.py:211 train_one_epoch | torch.cuda.synchronize()
                @torch/cuda/__init__.py:783 synchronize | return torch._C._cuda_synchronize()
                """,
                cuda_error("2.1", "uncorrectable NVLink error detected during the execution"),
            ),
        ),
        "srun: error: a100-022: task 2: Exited with exit code 1",
        "srun: launch/slurm: _step_signal: Terminating StepId=901177.0",
        "slurmstepd: error: *** STEP 901177.0 ON a100-022 CANCELLED AT 2024-07-09T03:35:02 ***",
        "srun: error: a100-022: tasks 0-1,3-7: Terminated",
        "== epilog: kernel since job start",
        kernel(
            tape,
            "a100-022",
            xid(
                "0000:4e:00",
                74,
                "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
                pid=None,
            ),
            "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 28 LTSSM Fault Up",
            "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Severity 1 Engine instance 28 Sub-engine instance 00",
            xid("0000:4e:00", 45, "Ch 00000008", pid=51023),
            form="dmesg -T",
        ),
    )
    return ComposedLog(
        "nvlink_fatal",
        "gpu_hardware",
        143,
        tape.text(),
        _BASIS + "; NCCL sources",
        command="srun python pretrain.py --config conf/vit_l.yaml",
        versions={"torch": "2.1.2", "nccl": "2.18.5"},
        paper_class="runtime_error",
    )


def _contained_ecc() -> ComposedLog:
    tape = Tape(203, "2024-09-21 18:00:29")
    _head(tape, 917790, "a100-009", 4)
    tape.say(steps(tape, _STEP, range(2000, 9000, 1000), seconds=1300))
    tape.wait(33).say(
        marked(
            "1: ",
            "terminate called after throwing an instance of 'c10::Error'\n"
            "  what():  CUDA error: an illegal instruction was encountered\n"
            "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n"
            "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n"
            "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n\n"
            "Fatal Python error: Aborted\n\n"
            "Thread 0x00002b0f1c9d1740 (most recent call first):\n"
            '  File "/workspace/pretrain.py", line 204 in train_one_epoch\n'
            '  File "/workspace/pretrain.py", line 271 in run\n'
            '  File "/workspace/pretrain.py", line 318 in <module>',
        ),
        "srun: error: a100-009: task 1: Aborted",
        "srun: Terminating StepId=917790.0",
        "slurmstepd: error: *** STEP 917790.0 ON a100-009 CANCELLED AT 2024-09-21T20:35:51 ***",
        "== epilog (health check) on a100-009",
        kernel(
            tape,
            "a100-009",
            xid(
                "0000:41:00",
                63,
                "Row Remapper: New row marked for remapping, reset gpu to activate.",
                pid=None,
            ),
            xid(
                "0000:41:00",
                94,
                "Contained: HBM Memory Error (0x2), physAddr: 0x3f8c01e400",
                pid=20671,
            ),
            xid("0000:41:00", 45, "Ch 00000010", pid=20671),
        ),
        "health: gpu 1 (0000:41:00.0): volatile uncorrectable SRAM 0, DRAM 1; remapped rows pending: Yes",
        'health: draining node: Reason="gpu1 row remap pending"',
    )
    return ComposedLog(
        "contained_ecc",
        "gpu_hardware",
        134,
        tape.text(),
        _BASIS,
        command="srun python pretrain.py --config conf/vit_l.yaml",
        versions={"torch": "2.1.0"},
        paper_class=None,
        why="the abort alone says nothing of memory: Xid 94 and the remap in the epilog do",
    )


def _row_remap_at_start() -> ComposedLog:
    tape = Tape(204, "2024-10-02 07:45:18")
    tape.say(
        f"== prolog on a100-031 {tape.when()}",
        smi(
            tape,
            [
                Card(
                    "NVIDIA A100-SXM4-80GB", f"00000000:{bus}:00.0", 0, 81920, 30, 62, 400, ecc=ecc
                )
                for bus, ecc in (("07", "0"), ("0F", "0"), ("47", "1"), ("4E", "0"))
            ],
            driver="535.161.08",
            cuda="12.2",
        ),
        "prolog: warning: GPU 2 reports 1 volatile uncorrectable error, continuing (policy=warn)",
    )
    _head(tape, 920005, "a100-031", 4)
    tape.wait(20).say(
        marked(
            "2: ",
            traceback(
                """
                pretrain.py:318 <module> | run(cfg)
                pretrain.py:240 run | model = build_model(cfg.model).cuda()
                @torch/nn/modules/module.py:911 cuda | return self._apply(lambda t: t.cuda(device))
                @torch/nn/modules/module.py:802 _apply | module._apply(fn)
                @torch/nn/modules/module.py:825 _apply | param_applied = fn(param)
                @torch/nn/modules/module.py:911 <lambda> | return self._apply(lambda t: t.cuda(device))
                @torch/cuda/__init__.py:302 _lazy_init | torch._C._cuda_init()
                """,
                "RuntimeError: CUDA error: uncorrectable ECC error encountered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1.\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
            ),
        ),
        "srun: error: a100-031: task 2: Exited with exit code 1",
        "srun: error: a100-031: tasks 0-1,3: Terminated",
    )
    return ComposedLog(
        "row_remap_at_start",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS,
        command="srun python pretrain.py --config conf/vit_l.yaml",
        versions={"torch": "2.1.0", "driver": "535.161.08"},
        paper_class="runtime_error",
    )


def _xid_13_beside_illegal_access() -> ComposedLog:
    tape = Tape(205, "2023-11-08 12:22:50")
    _head(tape, 803551, "v100-004", 2)
    tape.say(steps(tape, _STEP, range(20, 140, 20), seconds=41))
    tape.wait(3).say(
        marked(
            "1: ",
            traceback(
                """
                pretrain.py:318 <module> | run(cfg)
                pretrain.py:271 run | train_one_epoch(state, loader)
                pretrain.py:198 train_one_epoch | loss = model(images, boxes)
                CALL 2.0
                models/deform.py:77 forward | out = deform_ext.forward(value, shapes, start, locations, weights, 64)
                """,
                cuda_error("2.0", "an illegal memory access was encountered"),
            ),
        ),
        "srun: error: v100-004: task 1: Exited with exit code 1",
        "srun: error: v100-004: task 0: Terminated",
        "== epilog: dmesg | grep -i nvrm",
        kernel(
            tape,
            "v100-004",
            xid(
                "0000:b2:00",
                13,
                "Graphics SM Warp Exception on (GPC 3, TPC 2, SM 1): Out Of Range Address",
                pid=18833,
            ),
            xid(
                "0000:b2:00",
                13,
                "Graphics SM Global Exception on (GPC 3, TPC 2, SM 1): Multiple Warp Errors",
                pid=18833,
            ),
            xid(
                "0000:b2:00",
                13,
                "Graphics Exception: ESR 0x51d730=0x102000e 0x51d734=0x24 0x51d728=0x1f81fb60 0x51d72c=0x1174",
                pid=18833,
            ),
            xid("0000:b2:00", 43, "Ch 00000018", pid=18833),
            form="dmesg",
        ),
    )
    return ComposedLog(
        "xid_13_beside_illegal_access",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command="srun python pretrain.py --config conf/deform_detr.yaml",
        versions={"torch": "2.0.1"},
        paper_class="cuda_runtime",
        why="Xid 13 and 43 alone come from the program's own kernel",
    )


def _xid_31_and_ecc_counters_clean() -> ComposedLog:
    tape = Tape(206, "2024-02-27 23:51:00")
    _head(tape, 860210, "a100-003", 4)
    tape.say(steps(tape, _STEP, range(50, 1000, 50), seconds=66))
    tape.wait(601)
    for at in (0, 1, 3):
        tape.say(
            marked(
                f"{at}: ",
                watchdog(
                    tape, "2.1", at, seq=7744, op="ALLREDUCE", numel=(5242880, 5242880), stack=True
                ),
            )
        )
    tape.say(
        "srun: error: a100-003: tasks 0-1,3: Aborted (core dumped)",
        "srun: error: a100-003: task 2: Exited with exit code 1",
        "== epilog: nvidia-smi -q -d ECC,ROW_REMAPPER (summary)",
        "    GPU 0-3: Volatile SRAM Correctable 0  SRAM Uncorrectable 0  DRAM Correctable 0  DRAM Uncorrectable 0",
        "    GPU 0-3: Remapped Rows Correctable 0  Uncorrectable 0  Pending No  Remapping Failure Occurred No",
        "== epilog: kernel",
        kernel(
            tape,
            "a100-003",
            xid(
                "0000:87:00",
                31,
                "Ch 00000013, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_4 faulted @ 0x7f3e_51000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
                pid=40912,
            ),
            xid("0000:87:00", 45, "Ch 00000013", pid=40912),
        ),
        "== epilog: tail -n 3 of task 2's own file",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.",
    )
    return ComposedLog(
        "xid_31_and_ecc_counters_clean",
        "cuda_runtime",
        134,
        tape.text(),
        _BASIS,
        command="srun python pretrain.py --config conf/vit_l.yaml",
        versions={"torch": "2.1.2"},
        paper_class="cuda_runtime",
        why="task 2 met an illegal access first; the time-outs are its victims",
    )


def _cgroup_killed_one_task() -> ComposedLog:
    tape = Tape(207, "2024-06-18 16:02:36")
    _head(tape, 894400, "a100-[018-019]", 8)
    tape.say(steps(tape, _STEP, range(100, 600, 100), seconds=97))
    for at in (1, 2, 6):
        tape.say(
            f"{at}: a100-018:{4400 + at}:{4480 + at} [{at % 4}] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.8.0.19<44712> failed : Connection refused"
            if at == 6
            else f"{at}: a100-018:{4400 + at}:{4480 + at} [{at}] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer a100-019.cluster<41188>"
        )
        tape.say(
            marked(
                f"{at}: ",
                traceback(
                    """
                    pretrain.py:318 <module> | run(cfg)
                    pretrain.py:271 run | train_one_epoch(state, loader)
                    pretrain.py:215 train_one_epoch | dist.all_reduce(stats)
                    @torch/distributed/distributed_c10d.py:1910 all_reduce | work.wait()
                    """,
                    "torch.distributed.DistBackendError: NCCL communicator was aborted on rank "
                    f"{at}.  Original reason for failure was: NCCL error: remote process exited or there was a network error, NCCL version 2.18.1\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer a100-019.cluster<41188>",
                ),
            )
        )
    tape.say(
        "slurmstepd: error: Detected 1 oom_kill event in StepId=894400.0. Some of the step tasks have been OOM Killed.",
        "srun: error: a100-019: task 4: Out Of Memory",
        "srun: Terminating StepId=894400.0",
        "slurmstepd: error: *** STEP 894400.0 ON a100-018 CANCELLED AT 2024-06-18T16:11:20 ***",
        "srun: error: a100-018: tasks 0-3: Exited with exit code 1",
        "srun: error: a100-019: tasks 5-7: Terminated",
    )
    return ComposedLog(
        "cgroup_killed_one_task",
        "oom_killer",
        137,
        tape.text(),
        _BASIS,
        command="srun python pretrain.py --config conf/vit_l.yaml",
        versions={"torch": "2.1.0"},
        paper_class="oom_killer",
        why="slurmstepd names the kill; the ranks of the other node only lost their peer",
    )


def _node_lost() -> ComposedLog:
    tape = Tape(208, "2024-08-03 05:10:11")
    _head(tape, 908812, "a100-[040-043]", 16)
    tape.say(steps(tape, _STEP, range(1000, 5000, 500), seconds=700))
    tape.wait(90)
    for at in (1, 5):
        tape.say(
            f"{at}: a100-04{at // 4}:{9900 + at}:{9960 + at} [{at % 4}] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer 10.8.2.42<54310> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid fe80::e42:a1ff:fe5c:11a0 remoteGids fe80::e42:a1ff:fe5c:40bc",
            f"{at}: a100-04{at // 4}:{9900 + at}:{9960 + at} [{at % 4}] NCCL INFO transport/net.cc:1134 -> 6",
        )
    tape.say(
        marked(
            "5: ",
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1331, remote process exited or there was a network error, NCCL version 2.18.5\n"
            "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
            "Last error:\nNET/IB : Got completion from peer 10.8.2.42<54310> with status=12 opcode=0 len=0 vendor err 129 (Recv)",
        ),
        "srun: error: Node failure on a100-042",
        "slurmstepd: error: *** JOB 908812 ON a100-040 CANCELLED AT 2024-08-03T06:46:58 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "slurmstepd: error: *** STEP 908812.0 ON a100-040 CANCELLED AT 2024-08-03T06:46:58 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
    )
    return ComposedLog(
        "node_lost",
        "node_failure",
        None,
        tape.text(),
        _BASIS,
        command="sbatch -N4 --gres=gpu:4 pretrain.sbatch",
        versions={"torch": "2.1.2"},
        paper_class=None,
    )


def _handle_unknown() -> ComposedLog:
    tape = Tape(209, "2025-01-08 20:17:55")
    tape.say(
        f"== prolog on a100-027 {tape.when()}",
        "Unable to determine the device handle for GPU0000:BD:00.0: Unknown Error",
        "prolog: nvidia-smi exited with 15, continuing",
    )
    _head(tape, 960021, "a100-027", 4)
    tape.wait(9).say(
        "/opt/conda/lib/python3.10/site-packages/torch/cuda/__init__.py:128: UserWarning: CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero. (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)",
        "  return torch._C._cuda_getDeviceCount() > 0",
        marked(
            "0: ",
            traceback(
                """
                pretrain.py:318 <module> | run(cfg)
                pretrain.py:229 run | torch.cuda.set_device(local_rank)
                @torch/cuda/__init__.py:404 set_device | torch._C._cuda_setDevice(device)
                @torch/cuda/__init__.py:298 _lazy_init | torch._C._cuda_init()
                """,
                "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero.",
            ),
        ),
        "srun: error: a100-027: tasks 0-3: Exited with exit code 1",
        "== epilog",
        kernel(
            tape,
            "a100-027",
            "NVRM: The NVIDIA GPU 0000:bd:00.0",
            "NVRM: (PCI ID: 10de:20b2) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
            "nvidia: probe of 0000:bd:00.0 failed with error -1",
        ),
    )
    return ComposedLog(
        "handle_unknown",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS,
        command="srun python pretrain.py --config conf/vit_l.yaml",
        versions={"torch": "2.1.2"},
        paper_class="runtime_error",
        why="the unknown CUDA error has its reason in the prolog and the kernel: a card is gone",
    )


def _time_limit_while_training() -> ComposedLog:
    tape = Tape(210, "2024-03-11 00:00:04")
    _head(tape, 866201, "a100-[001-002]", 8)
    tape.say(
        "0: NCCL version 2.18.5+cuda12.1",
        "3: a100-001:2203:2290 [3] init.cc:1510 NCCL WARN NCCL_IB_TIMEOUT set by environment to 22.",
        steps(tape, _STEP, range(2000, 40000, 2000), seconds=4540),
    )
    tape.wait(120).say(
        "slurmstepd: error: *** STEP 866201.0 ON a100-001 CANCELLED AT 2024-03-12T00:00:21 DUE TO TIME LIMIT ***",
        "slurmstepd: error: *** JOB 866201 ON a100-001 CANCELLED AT 2024-03-12T00:00:21 DUE TO TIME LIMIT ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "5: WARNING:torch.distributed.elastic.agent.server.api:Received 15 death signal, shutting down workers",
        "5: torch.distributed.elastic.multiprocessing.api.SignalException: Process 1412 got signal: 15",
        "srun: error: a100-002: tasks 4-7: Terminated",
        "srun: error: a100-001: tasks 0-3: Terminated",
    )
    return ComposedLog(
        "time_limit_while_training",
        "time_limit",
        143,
        tape.text(),
        _BASIS,
        command="sbatch -t 24:00:00 -N2 pretrain.sbatch",
        versions={"torch": "2.1.2"},
        paper_class=None,
    )


def _finished_with_corrected_errors() -> ComposedLog:
    tape = Tape(211, "2024-05-05 10:00:47")
    _head(tape, 886666, "a100-011", 4)
    tape.say(
        '0: a100-011:7710:7761 [0] init.cc:712 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!',
        "2: a100-011:7712:7790 [2] misc/cudawrap.cc:182 NCCL WARN Failed to find CUDA library libcuda.so.1 in NCCL_CUDA_PATH=(null), using the default",
        steps(tape, _STEP, range(1000, 16000, 1000), seconds=1160),
        "[2024-05-05 14:50:58] GradScaler: found inf, skipping step 14871 (scale 65536.0 -> 32768.0), nan losses so far: 0",
        "[2024-05-05 14:51:33] final: top1 83.94 top5 96.71, checkpoint saved, errors 0",
        "== epilog: health of a100-011",
        smi(
            tape,
            [
                Card("NVIDIA A100-SXM4-80GB", f"00000000:{bus}:00.0", 0, 81920, 33, 64, 400)
                for bus in ("07", "0F", "47", "4E")
            ],
            driver="535.161.08",
            cuda="12.2",
        ),
        kernel(
            tape,
            "a100-011",
            "EDAC MC1: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1b5c9e offset:0x740 grain:32 syndrome:0x0)",
            "pcieport 0000:40:01.1: AER: Corrected error received: 0000:47:00.0",
            "nvidia 0000:47:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            "mce: [Hardware Error]: Machine check events logged",
        ),
        "== job 886666 finished with 0",
    )
    return ComposedLog(
        "finished_with_corrected_errors",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="sbatch --gres=gpu:4 pretrain.sbatch",
        versions={"torch": "2.1.2", "driver": "535.161.08"},
        paper_class=None,
        why="corrected errors, a skipped step and notices in a run that reached its end",
    )


def _gsp_timeout() -> ComposedLog:
    tape = Tape(212, "2025-03-19 09:41:30")
    _head(tape, 977314, "a100-033", 8)
    tape.say(steps(tape, _STEP, range(250, 2500, 250), seconds=330))
    tape.wait(1803)
    for at in (0, 4):
        tape.say(
            marked(
                f"{at}: ",
                watchdog(
                    tape,
                    "2.4",
                    at,
                    seq=33190,
                    op="_REDUCE_SCATTER_BASE",
                    numel=(50331648, 6291456),
                    timeout_ms=1800000,
                    ahead=2,
                ),
            )
        )
    tape.say(
        "srun: error: a100-033: tasks 0,4: Aborted",
        "srun: error: a100-033: tasks 1-3,5-7: Killed",
        "== epilog: kernel since job start",
        kernel(
            tape,
            "a100-033",
            xid(
                "0000:90:00",
                119,
                "Timeout after 6s of waiting for RPC response from GPU5 GSP! Expected function 76 (GSP_RM_CONTROL) (0x2080a097 0x8).",
                pid=61105,
            ),
            "NVRM: GPU5 GSP RPC buffer contains function 76 (GSP_RM_CONTROL) and data 0x000000002080a097 0x0000000000000008.",
            "NVRM: _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentHeartbeat=0x0",
            xid(
                "0000:90:00",
                120,
                "GSP task exception: store access page fault (15) @ pc:0xffffff800017c2be, partition:4#0, task:3",
                pid=None,
            ),
            xid(
                "0000:90:00",
                154,
                "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
            ),
            "INFO: task python:61105 blocked for more than 122 seconds.",
        ),
    )
    return ComposedLog(
        "gsp_timeout",
        "gpu_hardware",
        137,
        tape.text(),
        _BASIS,
        command="srun python pretrain.py --config conf/vit_l.yaml",
        versions={"torch": "2.4.0"},
        paper_class=None,
        why="Xid 119/120 (GSP) is among the card's own faults; the time-outs follow it by half an hour",
    )
