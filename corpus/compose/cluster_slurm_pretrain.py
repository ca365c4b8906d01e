"""Pre-training over many nodes: Slurm 23.02 to 24.11, enroot containers, Lustre, Megatron."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import dmesg, log, sacct
from corpus.compose._gpu_hosts import xid
from corpus.compose._gpu_tape import Tape, marked, mixed, traceback
from corpus.compose._gpu_torch import heartbeat, oom, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = "Slurm 23.02-24.11 sources, pyxis and enroot, Lustre client and kernel messages, Megatron-LM and PyTorch sources"
_SITE = "/usr/local/lib/python3.12/dist-packages"
_ROOT = "/opt/Megatron-LM"


def logs() -> Iterator[ComposedLog]:
    """Jobs of two to sixteen nodes."""
    yield _node_failed_under_it()
    yield _drained_for_a_lost_card()
    yield _mount_of_the_container()
    yield _peers_that_came_too_late()
    yield _stalled_all_gather()
    yield _hung_until_its_limit()
    yield _half_a_checkpoint()
    yield _lustre_evicted_the_client()
    yield _loss_turned_nan()
    yield _memory_of_the_last_stage()
    yield _sizes_do_not_divide()
    yield _restarted_inside_the_job()
    yield _killed_without_a_word()
    yield _heap_of_the_data_index()


def _now(tape: Tape) -> str:
    return tape.when("%Y-%m-%dT%H:%M:%S")


def _prolog(tape: Tape, job: int, nodes: str, count: int) -> None:
    tape.say(
        f"START TIME: {tape.when('%a %b %d %H:%M:%S UTC %Y')}",
        f"+ echo job {job} on {count} nodes {nodes}",
        "+ srun --kill-on-bad-exit=1 --mpi=pmix --container-image=/lustre/images/mcore-25.04.sqsh --container-mounts=/lustre:/lustre bash -c 'python -u pretrain_gpt.py ...'",
        "pyxis: importing docker image: /lustre/images/mcore-25.04.sqsh" if job % 2 else "",
    )


def _arguments(tape: Tape, *more: str) -> None:
    tape.say(
        "using world size: 64, data-parallel size: 8, context-parallel size: 1, tensor-model-parallel size: 4, pipeline-model-parallel size: 2",
        "------------------------ arguments ------------------------",
        *(
            f"  {name} {'.' * max(2, 46 - len(name))} {value}"
            for name, value in (
                ("accumulate_allreduce_grads_in_fp32", "True"),
                ("check_for_nan_in_loss_and_grad", "True"),
                ("check_for_spiky_loss", "False"),
                ("distributed_timeout_minutes", "10"),
                ("error_injection_rate", "0"),
                ("error_injection_type", "transient_error"),
                ("exit_duration_in_mins", "None"),
                ("exit_signal_handler", "True"),
                ("inprocess_restart", "False"),
                ("load", "/lustre/ckpt/gpt-15b"),
                ("save_interval", "500"),
            )
        ),
        *more,
        "-------------------- end of arguments ---------------------",
        "> initializing torch distributed ...",
        "> initialized tensor model parallel with size 4",
        "> initialized pipeline model parallel with size 2",
        "> setting random seeds to 1234 ...",
        "time to initialize megatron (seconds): 18.733",
    )


def _iterations(
    tape: Tape, numbers: range, *, prefix: str = "", ms: float = 523.0, loss: float = 2.31
) -> None:
    for at in numbers:
        tape.wait(ms / 10)
        tape.say(
            f"{prefix} [{tape.when()}.{tape.rng.randrange(10**6):06d}] iteration {at:8d}/  476837 | consumed samples: {at * 256:12d} | elapsed time per iteration (ms): {tape.near(ms, 0.02):.1f} | throughput per GPU (TFLOP/s/GPU): {tape.near(401, 0.02):.1f} | learning rate: {tape.near(2.9e-4, 0.001):.6E} | global batch size:   256 | lm loss: {tape.near(loss, 0.01):.6E} | loss scale: 1.0 | grad norm: {tape.near(0.21, 0.2):.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |"
        )


def _node_failed_under_it() -> ComposedLog:
    tape = Tape(4201, "2025-02-14 01:10:33")
    _prolog(tape, 4410210, "h100-[033-040]", 8)
    _arguments(tape)
    _iterations(tape, range(120100, 122300, 100), prefix="63:")
    tape.wait(140).say(
        "srun: error: Node failure on h100-036",
        "srun: Job step aborted: Waiting up to 92 seconds for job step to finish.",
        f"slurmstepd: error: *** STEP 4410210.0 ON h100-033 CANCELLED AT {_now(tape)} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        f"slurmstepd: error: *** JOB 4410210 ON h100-033 CANCELLED AT {_now(tape)} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        mixed(
            tape,
            *(
                f'{rank}: [rank{rank}]:[W214 01:33:{sec}.{tape.rng.randrange(10**9):09d} TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=76, addr=[h100-0{33 + rank // 8}]:{51000 + rank}, remote=[h100-036]:29400): failed to recv, got 0 bytes\n{rank}: Exception raised from recvBytes at /opt/pytorch/pytorch/torch/csrc/distributed/c10d/Utils.hpp:678 (most recent call first):\n{rank}: [rank{rank}]:[W214 01:33:{sec}.{tape.rng.randrange(10**9):09d} ProcessGroupNCCL.cpp:1662] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: failed to recv, got 0 bytes'
                for rank, sec in ((3, 41), (17, 41), (40, 42))
            ),
        ),
        "srun: error: h100-033: tasks 0-7: Terminated",
        "srun: error: h100-034: tasks 8-15: Terminated",
        "srun: error: h100-038: tasks 40-47: Killed",
    )
    return log(
        tape,
        "node_failed_under_it",
        "node_failure",
        None,
        _BASIS,
        command="sbatch -N8 --no-requeue pretrain_15b.sbatch",
        slurm="24.05.4",
        torch="2.6.0",
    )


def _drained_for_a_lost_card() -> ComposedLog:
    tape = Tape(4202, "2025-03-02 17:44:09")
    _prolog(tape, 4502117, "h100-[101-104]", 4)
    _iterations(tape, range(8000, 9900, 100), prefix="31:")
    tape.wait(601)
    for rank in (0, 9, 30):
        tape.say(
            marked(
                f"{rank}: ",
                watchdog(
                    tape,
                    "2.6",
                    rank,
                    seq=1130044,
                    op="_ALLGATHER_BASE",
                    numel=(3145728, 25165824),
                    group="PG ID 3 PG GUID 31(TENSOR_AND_DATA_PARALLEL_GROUP)",
                ),
            )
        )
    tape.say(
        "srun: error: h100-101: task 0: Aborted (core dumped)",
        "srun: Terminating StepId=4502117.0",
        f"slurmstepd: error: *** STEP 4502117.0 ON h100-101 CANCELLED AT {_now(tape)} ***",
        "srun: error: h100-102: task 9: Aborted (core dumped)",
        "srun: error: h100-104: task 30: Aborted (core dumped)",
        "srun: error: h100-103: tasks 16-23: Killed",
        "# epilog h100-103",
        dmesg(
            tape,
            [
                "pcieport 0000:a6:01.0: pciehp: Slot(3): Link Down",
                xid(
                    "0000:aa:00",
                    79,
                    "GPU has fallen off the bus.",
                    pid=1190022,
                ),
                "NVRM: GPU 0000:aa:00.0: GPU has fallen off the bus.",
                "NVRM: A GPU crash dump has been created. If possible, please run nvidia-bug-report.sh as root to collect this data before the NVIDIA kernel module is unloaded.",
            ],
            91231.77,
        ),
        "# sinfo -R -n h100-103",
        "REASON               USER      TIMESTAMP           NODELIST",
        f"NHC: check_hw_xid:   slurm     {_now(tape)} h100-103",
    )
    return log(
        tape,
        "drained_for_a_lost_card",
        "gpu_hardware",
        134,
        _BASIS,
        command="sbatch -N4 pretrain_7b.sbatch",
        paper_class=None,
        why="the time-outs of the others began when a card of h100-103 fell off the bus",
        slurm="23.11.10",
    )


def _mount_of_the_container() -> ComposedLog:
    tape = Tape(4203, "2024-10-08 09:01:52")
    tape.say(
        "+ srun --container-image=nvcr.io#nvidia/pytorch:24.07-py3 --container-mounts=/lustre/data/fineweb:/data,/lustre/ckpt:/ckpt torchrun --nnodes 2 --nproc_per_node 8 train.py",
        *(
            line
            for node, first in (("dgx-011", 0), ("dgx-012", 1))
            for line in (
                f"{first}: pyxis: importing docker image: nvcr.io#nvidia/pytorch:24.07-py3",
                f"{first}: pyxis: imported docker image: nvcr.io#nvidia/pytorch:24.07-py3",
                f"{first}: slurmstepd: error: pyxis: container start failed with error code: 1",
                f"{first}: slurmstepd: error: pyxis: printing enroot log file:",
                f"{first}: slurmstepd: error: pyxis:     enroot-mount: failed to mount: /lustre/data/fineweb at /run/enroot/data/pyxis_3881002.{first}/data: No such file or directory",
                f"{first}: slurmstepd: error: pyxis:     [ERROR] /etc/enroot/hooks.d/10-system.sh exited with return code 1",
                f"{first}: slurmstepd: error: pyxis: couldn't start container",
                f"{first}: slurmstepd: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1",
                f"{first}: slurmstepd: error: Failed to invoke spank plugin stack",
                f"srun: error: {node}: task {first}: Exited with exit code 1",
            )
        ),
        "srun: Terminating StepId=3881002.0",
        sacct(
            [
                ("3881002", "fineweb-2n", "FAILED", "1:0", "", "00:02:44", "dgx-[011-012]"),
                ("3881002.bat+", "batch", "FAILED", "1:0", "5180K", "00:02:44", "dgx-011"),
                ("3881002.0", "torchrun", "FAILED", "1:0", "", "00:02:40", "dgx-[011-012]"),
            ]
        ),
    )
    return log(
        tape,
        "mount_of_the_container",
        "file_not_found",
        1,
        _BASIS,
        paper_class="file_not_found",
        why="the folder to mount is not on the host; nothing says that the file system is down",
        slurm="23.02.7",
        enroot="3.4.1",
    )


def _peers_that_came_too_late() -> ComposedLog:
    tape = Tape(4204, "2024-11-20 06:00:02")
    _prolog(tape, 3990415, "h100-[001-004]", 4)
    tape.say("head node h100-001 (10.31.0.1) port 29400", "0: enroot: extracting image, 71 %")
    tape.wait(901)
    for task, node in ((1, "h100-002"), (2, "h100-003"), (3, "h100-004")):
        tape.say(
            marked(
                f"{task}: ",
                f"[E1120 06:15:{task + 4:02d}.{tape.rng.randrange(10**9):09d} socket.cpp:1019] [c10d] The client socket has timed out after 900000ms while trying to connect to (h100-001, 29400).\n"
                + traceback(
                    """
                    /usr/local/bin/torchrun:33 <module> | sys.exit(load_entry_point('torch==2.6.0a0+ecf3bae40a.nv25.1', 'console_scripts', 'torchrun')())
                    @torch/distributed/elastic/multiprocessing/errors/__init__.py:355 wrapper | return f(*args, **kwargs)
                    @torch/distributed/run.py:918 main | run(args)
                    @torch/distributed/launcher/api.py:260 launch_agent | result = agent.run()
                    @torch/distributed/elastic/agent/server/api.py:845 _initialize_workers | self._rendezvous(worker_group)
                    @torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py:66 next_rendezvous | self._store = TCPStore(  # type: ignore[call-arg]
                    """,
                    "torch.distributed.DistNetworkError: The client socket has timed out after 900000ms while trying to connect to (h100-001, 29400).",
                    site=_SITE,
                ),
            ),
            f"srun: error: {node}: task {task}: Exited with exit code 1",
        )
    tape.say(
        "srun: Terminating StepId=3990415.0",
        "slurmstepd: error: *** STEP 3990415.0 ON h100-001 CANCELLED AT 2024-11-20T06:15:08 ***",
        "0: pyxis: container start cancelled",
        "srun: error: h100-001: task 0: Terminated",
    )
    return log(
        tape,
        "peers_that_came_too_late",
        "rendezvous",
        1,
        _BASIS,
        command="srun torchrun --nnodes 4 --master_addr h100-001 --master_port 29400 pretrain_gpt.py",
        paper_class="traceback",
        torch="2.6.0",
    )


def _stalled_all_gather() -> ComposedLog:
    tape = Tape(4205, "2025-01-09 11:25:47")
    _prolog(tape, 4220983, "h200-[005-006]", 2)
    _arguments(tape)
    _iterations(tape, range(500, 2100, 100), prefix="15:")
    tape.wait(602)
    for rank in (2, 7, 11):
        tape.say(
            marked(
                f"{rank}: ",
                watchdog(
                    tape,
                    "2.5",
                    rank,
                    seq=88123,
                    op="_REDUCE_SCATTER_BASE",
                    numel=(805306368, 50331648),
                    ahead=3,
                ),
            )
        )
    tape.say(
        "srun: error: h200-005: tasks 2,7: Aborted (core dumped)",
        "srun: Terminating StepId=4220983.0",
        f"slurmstepd: error: *** STEP 4220983.0 ON h200-005 CANCELLED AT {_now(tape)} ***",
        "srun: error: h200-006: task 11: Aborted (core dumped)",
        "srun: error: h200-006: tasks 8-10,12-15: Terminated",
        "# epilog h200-005: no XID since boot, ib0 state ACTIVE, lustre ok",
        "# epilog h200-006: no XID since boot, ib0 state ACTIVE, lustre ok",
    )
    return log(
        tape,
        "stalled_all_gather",
        "collective",
        134,
        _BASIS,
        command="sbatch -N2 pretrain_1b.sbatch",
        torch="2.5.1",
    )


def _hung_until_its_limit() -> ComposedLog:
    tape = Tape(4206, "2025-04-01 00:00:12")
    _prolog(tape, 4611801, "h100-[050-051]", 2)
    tape.say(
        "+ export TORCH_NCCL_ENABLE_MONITORING=0 NCCL_DEBUG=WARN TORCH_NCCL_ASYNC_ERROR_HANDLING=0"
    )
    _iterations(tape, range(31000, 31900, 100), prefix="15:")
    tape.wait(3600)
    for rank in range(4):
        tape.say(
            f"{rank}: [rank{rank}]:[E401 01:1{rank}:07.{tape.rng.randrange(10**9):09d} ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=402113, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600{rank}31 milliseconds before timing out."
        )
    tape.wait(80000).say(
        "slurmstepd: error: *** STEP 4611801.0 ON h100-050 CANCELLED AT 2025-04-02T00:00:31 DUE TO TIME LIMIT ***",
        "srun: Job step aborted: Waiting up to 92 seconds for job step to finish.",
        "slurmstepd: error: *** JOB 4611801 ON h100-050 CANCELLED AT 2025-04-02T00:00:31 DUE TO TIME LIMIT ***",
        "srun: error: h100-050: tasks 0-7: Killed",
        "srun: error: h100-051: tasks 8-15: Killed",
    )
    return log(
        tape,
        "hung_until_its_limit",
        "collective",
        137,
        _BASIS,
        command="sbatch -N2 -t 24:00:00 pretrain_1b.sbatch",
        why="a day passed between the last iteration and the limit, and four ranks told of the collective that did not end",
        torch="2.7.0",
    )


def _half_a_checkpoint() -> ComposedLog:
    tape = Tape(4207, "2025-05-06 22:13:20")
    _prolog(tape, 4720034, "h100-[061-064]", 4)
    _iterations(tape, range(11600, 12001, 100), prefix="31:")
    tape.say(
        "0: saving checkpoint at iteration   12000 to /lustre/ckpt/gpt-7b in torch_dist format",
        f"slurmstepd: error: *** JOB 4720034 ON h100-061 CANCELLED AT {_now(tape)} DUE TO PREEMPTION ***",
        f"slurmstepd: error: *** STEP 4720034.0 ON h100-061 CANCELLED AT {_now(tape)} DUE TO PREEMPTION ***",
    )
    tape.wait(5400)
    _prolog(tape, 4720034, "h100-[020-023]", 4)
    tape.say(
        "SLURM_RESTART_COUNT=1: resuming",
        "0: loading distributed checkpoint from /lustre/ckpt/gpt-7b at iteration 12000",
    )
    for rank in (0, 13):
        tape.say(
            marked(
                f"{rank}: [rank{rank}]: ",
                traceback(
                    """
                    pretrain_gpt.py:296 <module> | pretrain(
                    megatron/training/training.py:811 pretrain | model, optimizer, opt_param_scheduler = setup_model_and_optimizer(
                    megatron/training/training.py:1180 setup_model_and_optimizer | args.iteration, args.num_floating_point_operations_so_far = load_checkpoint(
                    megatron/training/checkpointing.py:1302 load_checkpoint | state_dict, checkpoint_name, release, ckpt_type = _load_base_checkpoint(
                    megatron/core/dist_checkpointing/serialization.py:138 load | sharded_strategy.load(sharded_state_dict, checkpoint_dir)
                    @torch/distributed/checkpoint/filesystem.py:701 read_metadata | metadata = pickle.load(metadata_file)
                    """,
                    "EOFError: Ran out of input",
                    root=_ROOT,
                    site=_SITE,
                ),
            )
        )
    tape.say(
        "srun: error: h100-020: task 0: Exited with exit code 1",
        "srun: Terminating StepId=4720034.0",
        "srun: error: h100-021: task 13: Exited with exit code 1",
        "srun: error: h100-022: tasks 16-23: Terminated",
    )
    return log(
        tape,
        "half_a_checkpoint",
        "checkpoint",
        1,
        _BASIS,
        command="sbatch --requeue -N4 pretrain_7b.sbatch",
        paper_class="traceback",
        why="the requeue was made good; what must change is the checkpoint that the preemption cut off",
        torch="2.7.0",
        megatron="core_r0.12",
    )


def _lustre_evicted_the_client() -> ComposedLog:
    tape = Tape(4208, "2024-12-17 14:52:01")
    _prolog(tape, 4133871, "h100-[070-071]", 2)
    _iterations(tape, range(43100, 44001, 100), prefix="15:")
    tape.say(
        "0: saving checkpoint at iteration   44000 to /lustre/ckpt/gpt-3b in torch_dist format",
        marked(
            "9: [rank9]: ",
            traceback(
                """
                pretrain_gpt.py:296 <module> | pretrain(
                megatron/training/training.py:1702 train | save_checkpoint_and_time(iteration, model, optimizer, opt_param_scheduler, num_floating_point_operations_so_far)
                megatron/core/dist_checkpointing/strategies/filesystem_async.py:236 write_preloaded_data | os.fsync(stream.fileno())
                """,
                "OSError: [Errno 108] Cannot send after transport endpoint shutdown",
                root=_ROOT,
                site=_SITE,
            ),
        ),
        "srun: error: h100-071: task 9: Exited with exit code 1",
        "srun: Terminating StepId=4133871.0",
        f"slurmstepd: error: *** STEP 4133871.0 ON h100-070 CANCELLED AT {_now(tape)} ***",
        "srun: error: h100-070: tasks 0-7: Terminated",
        "# epilog h100-071: dmesg",
        dmesg(
            tape,
            [
                "LustreError: 11-0: scr-OST0012-osc-ffff9f3a4c0e9000: operation ost_write to node 10.31.200.9@o2ib failed: rc = -107",
                "Lustre: scr-OST0012-osc-ffff9f3a4c0e9000: Connection to scr-OST0012 (at 10.31.200.9@o2ib) was lost; in progress operations using this service will wait for recovery to complete",
                "LustreError: 167-0: scr-OST0012-osc-ffff9f3a4c0e9000: This client was evicted by scr-OST0012; in progress operations using this service will fail.",
                "Lustre: scr-OST0012-osc-ffff9f3a4c0e9000: Connection restored to 10.31.200.9@o2ib (at 10.31.200.9@o2ib)",
            ],
            404040.2,
        ),
    )
    return log(
        tape,
        "lustre_evicted_the_client",
        "filesystem_io",
        1,
        _BASIS,
        command="sbatch -N2 pretrain_3b.sbatch",
        paper_class="traceback",
        lustre="2.15.4",
    )


def _loss_turned_nan() -> ComposedLog:
    tape = Tape(4209, "2025-02-25 03:38:59")
    _prolog(tape, 4460101, "h100-[009-016]", 8)
    _arguments(tape)
    _iterations(tape, range(60100, 61300, 100), prefix="63:", loss=2.2)
    for rank in (60, 62):
        tape.say(
            marked(
                f"{rank}: [rank{rank}]: ",
                traceback(
                    """
                    pretrain_gpt.py:296 <module> | pretrain(
                    megatron/training/training.py:1644 train | losses_reduced, skipped_iter, should_checkpoint, should_exit, exit_code, grad_norm, num_zeros_in_grad = train_step(
                    megatron/core/pipeline_parallel/schedules.py:2083 forward_backward_pipelining_without_interleaving | output_tensor, num_tokens = forward_step(
                    pretrain_gpt.py:181 loss_func | rerun_state_machine.validate_result(
                    megatron/core/rerun_state_machine.py:547 validate_result | raise RuntimeError(full_message)
                    """,
                    f"RuntimeError: Rank {rank}, node h100-016, device {rank % 8}, iteration 61224: Unexpected result nan (message='found NaN in local forward loss calculation')",
                    root=_ROOT,
                    site=_SITE,
                ),
            ),
            f"srun: error: h100-016: task {rank}: Exited with exit code 1",
        )
    tape.say(
        "srun: Terminating StepId=4460101.0",
        f"slurmstepd: error: *** STEP 4460101.0 ON h100-009 CANCELLED AT {_now(tape)} ***",
        *(
            f"{rank}: [rank{rank}]:[E225 03:50:1{rank % 10}.{tape.rng.randrange(10**9):09d} ProcessGroupNCCL.cpp:2168] [PG ID 5 PG GUID 47 Rank {rank}]  failure detected by watchdog at work sequence id: 61224 PG status: last enqueued work: 61224, last completed work: 61223"
            for rank in (0, 8, 24)
        ),
        "srun: error: h100-[009-015]: tasks 0-55: Terminated",
        "srun: error: h100-016: tasks 56-59,61,63: Terminated",
    )
    return log(
        tape,
        "loss_turned_nan",
        "nan_loss",
        1,
        _BASIS,
        command="sbatch -N8 pretrain_15b.sbatch",
        megatron="core_r0.12",
    )


def _memory_of_the_last_stage() -> ComposedLog:
    tape = Tape(4210, "2025-01-30 19:17:44")
    _prolog(tape, 4330055, "h100-[021-022]", 2)
    _arguments(tape, "  micro_batch_size ................................ 4")
    for rank in (12, 13, 14, 15):
        tape.say(
            marked(
                f"{rank}: [rank{rank}]: ",
                traceback(
                    """
                    pretrain_gpt.py:296 <module> | pretrain(
                    megatron/training/training.py:1202 train_step | losses_reduced = forward_backward_func(
                    megatron/core/models/gpt/gpt_model.py:320 forward | loss = self.compute_language_model_loss(labels, logits)
                    megatron/core/tensor_parallel/cross_entropy.py:139 forward | vocab_parallel_logits = vocab_parallel_logits.float()
                    """,
                    oom(
                        "2.6",
                        "6.19 GiB",
                        gpu=rank % 8,
                        free=f"{tape.near(3.1, 0.2):.2f} GiB",
                        used="76.04 GiB",
                        allocated="71.88 GiB",
                        idle="2.06 GiB",
                    ),
                    root=_ROOT,
                    site=_SITE,
                ),
            )
        )
    tape.say(
        "srun: error: h100-022: tasks 12-15: Exited with exit code 1",
        "srun: Terminating StepId=4330055.0",
        "slurmstepd: error: *** STEP 4330055.0 ON h100-021 CANCELLED AT 2025-01-30T19:20:18 ***",
        "srun: error: h100-021: tasks 0-7: Terminated",
        sacct(
            [
                ("4330055", "gpt-15b", "FAILED", "1:0", "", "00:03:21", "h100-[021-022]"),
                ("4330055.bat+", "batch", "FAILED", "1:0", "9120K", "00:03:21", "h100-021"),
                ("4330055.0", "bash", "FAILED", "1:0", "41200332K", "00:03:09", "h100-[021-022]"),
            ]
        ),
    )
    return log(
        tape,
        "memory_of_the_last_stage",
        "cuda_oom",
        1,
        _BASIS,
        command="sbatch -N2 pretrain_15b.sbatch",
        torch="2.6.0",
    )


def _sizes_do_not_divide() -> ComposedLog:
    tape = Tape(4211, "2024-09-03 16:40:10")
    _prolog(tape, 3700913, "dgx-[001-003]", 3)
    for rank in (1, 0, 19):
        tape.say(
            marked(
                f"{rank}: ",
                traceback(
                    """
                    pretrain_gpt.py:264 <module> | pretrain(
                    megatron/training/training.py:228 pretrain | initialize_megatron(
                    megatron/training/initialize.py:69 initialize_megatron | validate_args(args, args_defaults)
                    megatron/training/arguments.py:146 validate_args | assert args.world_size % total_model_size == 0, (
                    """,
                    "AssertionError: world size (24) is not divisible by total_model_size (encoder_model_size=0 + decoder_model_size=16)",
                    root=_ROOT,
                    site=_SITE,
                ),
            )
        )
    tape.say(
        "srun: error: dgx-001: tasks 0-7: Exited with exit code 1",
        "srun: Terminating StepId=3700913.0",
        "srun: error: dgx-003: tasks 16-23: Exited with exit code 1",
        "srun: error: dgx-002: tasks 8-15: Exited with exit code 1",
    )
    return log(
        tape,
        "sizes_do_not_divide",
        "config",
        1,
        _BASIS,
        command="sbatch -N3 pretrain_15b.sbatch",
        paper_class="assertion",
        megatron="core_r0.8",
    )


def _restarted_inside_the_job() -> ComposedLog:
    tape = Tape(4212, "2025-06-11 12:03:30")
    _prolog(tape, 4801442, "h100-[080-083]", 4)
    tape.say(
        "[2025-06-11 12:03:58] [INFO] [ft_launcher@h100-080] [nvidia_resiliency_ext] health check failed on standby node h100-083: NVLink inactive on GPU 5, node excluded",
        "[2025-06-11 12:03:59] [INFO] [ft_launcher@h100-080] [nvidia_resiliency_ext] rendezvous round 0 complete: 3 active, 0 standby nodes",
    )
    _arguments(tape)
    _iterations(tape, range(95100, 96000, 100), prefix="23:")
    tape.wait(180).say(
        "[2025-06-11 13:02:11] [ERROR] [ft_monitor@h100-081] Did not get subsequent heartbeat. Waited 180.00 seconds.",
        "[2025-06-11 13:02:11] [WARNING] [ft_launcher@h100-081] worker group FAILED, local_rank 3 (pid 71433) exit code -9; stopping remaining workers with SIGKILL",
        marked("0: ", heartbeat(tape, "2.6", 0, 480)),
        "[2025-06-11 13:02:40] [INFO] [ft_launcher@h100-080] restarting worker group: restart 1/5",
        "0: loading distributed checkpoint from /lustre/ckpt/gpt-7b at iteration 95500",
        "0:   successfully loaded checkpoint from /lustre/ckpt/gpt-7b [ t 1/4, p 1/2 ] at iteration 95500",
    )
    _iterations(tape, range(95600, 96601, 100), prefix="23:")
    tape.say(
        "0: saving checkpoint at iteration   96600 to /lustre/ckpt/gpt-7b in torch_dist format",
        "0:   successfully saved checkpoint from iteration   96600 to /lustre/ckpt/gpt-7b [ t 1/4, p 1/2 ]",
        "0: exiting program at iteration 96600",
        "+ echo train rc=0",
        "train rc=0",
        "END TIME: Wed Jun 11 14:55:27 UTC 2025",
    )
    return log(
        tape,
        "restarted_inside_the_job",
        "none",
        0,
        _BASIS + "; nvidia-resiliency-ext",
        command="sbatch -N4 pretrain_7b.sbatch",
        why="another node failed its check and one rank was replaced; the run reached its end",
        torch="2.6.0",
    )


def _killed_without_a_word() -> ComposedLog:
    tape = Tape(4213, "2024-08-14 20:09:36")
    _prolog(tape, 3610777, "h100-[030-031]", 2)
    _iterations(tape, range(100, 1500, 100), prefix="15:")
    tape.wait(20).say(
        "srun: error: h100-031: task 12: Killed",
        "srun: Terminating StepId=3610777.0",
        f"slurmstepd: error: *** STEP 3610777.0 ON h100-030 CANCELLED AT {_now(tape)} ***",
        "14: [rank14]:[W814 20:22:10.301122817 ProcessGroupNCCL.cpp:1168] Warning: WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL.",
        "srun: error: h100-030: tasks 0-7: Terminated",
        "srun: error: h100-031: tasks 8-11,13-15: Terminated",
        "# sacct",
        sacct(
            [
                ("3610777", "gpt-1b", "FAILED", "137:0", "", "00:32:51", "h100-[030-031]"),
                ("3610777.bat+", "batch", "FAILED", "137:0", "8804K", "00:32:51", "h100-030"),
                ("3610777.0", "bash", "FAILED", "0:9", "60113920K", "00:32:44", "h100-[030-031]"),
            ]
        ),
        "# ReqMem 1900G per node, MaxRSS 57G; no lines of today in dmesg of h100-031",
    )
    return log(
        tape,
        "killed_without_a_word",
        "killed_unknown",
        137,
        _BASIS,
        command="sbatch -N2 pretrain_1b.sbatch",
        paper_class=None,
        slurm="23.02.7",
    )


def _heap_of_the_data_index() -> ComposedLog:
    tape = Tape(4214, "2024-07-22 08:45:29")
    _prolog(tape, 3550120, "dgx-[005-006]", 2)
    tape.say(
        "> building train, validation, and test datasets for GPT ...",
        "> building shuffle index with split [0, 8112003) and [8112003, 8119447) ...",
        "> compiling dataset index builder ...",
        ">>> done with dataset index builder. Compilation time: 0.061 seconds",
        "0: malloc(): invalid size (unsorted)",
        "0: [dgx-005:183021] *** Process received signal ***",
        "0: [dgx-005:183021] Signal: Aborted (6)",
        "0: [dgx-005:183021] Signal code:  (-6)",
        "0: [dgx-005:183021] [ 0] /usr/lib/x86_64-linux-gnu/libc.so.6(+0x42520)[0x7f5b3c242520]",
        "0: [dgx-005:183021] [ 1] /usr/lib/x86_64-linux-gnu/libc.so.6(pthread_kill+0x12c)[0x7f5b3c2969fc]",
        "0: [dgx-005:183021] [ 2] /usr/lib/x86_64-linux-gnu/libc.so.6(raise+0x16)[0x7f5b3c242476]",
        "0: [dgx-005:183021] [ 3] /usr/lib/x86_64-linux-gnu/libc.so.6(abort+0xd3)[0x7f5b3c2287f3]",
        "0: [dgx-005:183021] [ 4] /opt/Megatron-LM/megatron/core/datasets/helpers_cpp.cpython-310-x86_64-linux-gnu.so(+0x10a3e)[0x7f58f00eea3e]",
        "0: [dgx-005:183021] *** End of error message ***",
        "srun: error: dgx-005: task 0: Aborted (core dumped)",
        "srun: Terminating StepId=3550120.0",
        "8: [rank8]: torch.distributed.DistBackendError: [8] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer",
        "srun: error: dgx-006: tasks 8-15: Exited with exit code 1",
        "srun: error: dgx-005: tasks 1-7: Terminated",
    )
    return log(
        tape,
        "heap_of_the_data_index",
        "segfault",
        134,
        _BASIS,
        command="sbatch -N2 pretrain_3b.sbatch",
        paper_class="segfault",
        why="rank 0 aborted in glibc's heap check, the others only lost the store",
        torch="2.4.0",
    )
