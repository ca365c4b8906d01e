"""Pretraining of 2025: torchtitan, TorchFT, Megatron-Core 0.14 and NeMo 2 on H100 and B200, torch 2.8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_hosts import kernel, omp, xid
from corpus.compose._gpu_tape import Tape, mixed, rank, traceback
from corpus.compose._gpu_torch import Exit, cuda_error, summary, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources and documentation of torchtitan 0.1-0.2, torchft, Megatron-Core 0.14, NeMo 2.4, torchao 0.12, PyTorch 2.8 (ProcessGroupNCCL, FlightRecorder, DCP, symmetric memory), NVIDIA Xid catalog"
_SITE = "/opt/venv/lib/python3.12/site-packages"
_ROOT = "/workspace/torchtitan"


def logs() -> Iterator[ComposedLog]:
    """Ranks that wait for one another, and the one that does not answer."""
    yield _dump_of_the_recorder()
    yield _grouped_product_of_odd_rows()
    yield _link_between_two_cards()
    yield _symmetric_pool_too_small()
    yield _planner_of_another_model()
    yield _quorum_that_shrank_for_good()
    yield _pipeline_layers()
    yield _token_bins_not_there()
    yield _grads_not_finite()
    yield _healed_replicas()


def _trace(number: int, frames: str, error: str, root: str = _ROOT) -> str:
    return rank(number, traceback(frames, error, root=root, site=_SITE, carets=True))


def _titan(
    tape: Tape,
    steps: Sequence[int],
    *,
    card: str = "B200",
    start: bool = True,
    tensor: bool = False,
) -> None:
    def one(text: str) -> str:
        tape.wait(tape.rng.random() * 2.5)
        return f"[rank0]:[titan] {tape.milli()} - root - {text}"

    if start:
        tape.say(
            omp(tape, "2.8"),
            one("INFO - Starting job: Llama 3 8B training"),
            one(
                "INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [2, 4]"
                if tensor
                else "INFO - Building 1-D device mesh with ['dp_shard'], [8]"
            ),
            *(
                (one("INFO - Async tensor parallelism enabled, symmetric memory for group 'tp'"),)
                if tensor
                else ()
            ),
            one("INFO - [GC] Initial GC collection took 0.00 seconds"),
            one("INFO - Loading tokenizer from tokenizer.json"),
            one(
                "WARNING - Failed to import pybind11 extension for the data loader, using the slow path"
            ),
            one("INFO - Preparing c4 dataset from allenai/c4"),
            one(
                "INFO - Building llama3 8B with TransformerModelArgs(dim=4096, n_layers=32, n_heads=32, n_kv_heads=8, vocab_size=128256, norm_eps=1e-05, rope_theta=500000, max_seq_len=8192)"
            ),
            one(
                f"INFO - CUDA capacity: NVIDIA {card} with {'178.36' if card == 'B200' else '79.11'}GiB memory"
            ),
            one("INFO - Model llama3 8B size: 8,030,261,248 total parameters"),
            one("INFO - Applied selective activation checkpointing to the model"),
            one("INFO - Compiling each TransformerBlock with torch.compile"),
            one("INFO - Applied FSDP to the model"),
            one(
                f"INFO - Peak FLOPS used for computing MFU: {'2.250e+15' if card == 'B200' else '9.890e+14'}"
            ),
            one(
                "INFO - Trainer is initialized with local batch size 2, global batch size 16, gradient accumulation steps 1, sequence length 8192, total steps 20000 (warmup 200)"
            ),
            one("INFO - Training starts at step 1"),
        )
    share = "34.31" if card == "B200" else "77.36"
    for at in steps:
        tape.wait(3)
        now = 2.9 + 9.3 / (1 + at / 40)
        tape.say(
            one(
                f"INFO - \x1b[31mstep: {at:2}  \x1b[32mloss: {tape.near(now, 0.01):7.4f}  \x1b[38;2;180;60;0mgrad_norm: {tape.near(1.3, 0.3):7.4f}  \x1b[38;2;54;234;195mmemory: {tape.near(61.2, 0.002):5.2f}GiB({share}%)  \x1b[34mtps: {int(tape.near(11900, 0.02)):,}  \x1b[36mtflops: {tape.near(688, 0.02):.2f}  \x1b[35mmfu: {tape.near(30.6, 0.02):.2f}%\x1b[39m"
            )
        )
        if at % 100 == 0:
            tape.say(
                one("INFO - Saving the checkpoint (or staging if async is enabled)."),
                one(
                    f"INFO - [GC] Performing periodic GC collection took {tape.near(0.04, 0.5):.2f} seconds"
                ),
                one(
                    f"INFO - Finished saving the checkpoint (or staging if async is enabled) in {tape.near(4.1, 0.1):.2f} seconds."
                ),
            )


def _ended(
    tape: Tape,
    exits: Sequence[Exit],
    script: str = "torchtitan.train",
    host: str = "b200-07",
    killed: Sequence[int] = (),
) -> None:
    tape.say(
        summary(
            tape,
            "2.8",
            script,
            exits,
            host=host,
            binary="/opt/venv/bin/python3",
            site=_SITE,
            launcher="/opt/venv/bin/torchrun",
            killed=killed,
        )
    )


def _dump_of_the_recorder() -> ComposedLog:
    tape = Tape(9201, "2025-10-08 01:14:00")
    _titan(tape, range(10, 461, 10))
    tape.wait(300)
    for number in (0, 5, 2):
        tape.say(
            watchdog(
                tape,
                "2.8",
                number,
                seq=29411,
                op="_REDUCE_SCATTER_BASE",
                numel=(218112000, 27264000),
                timeout_ms=300000,
                ahead=2,
                group="PG ID 1 PG GUID 1(mesh_dp_shard)",
            )
        )
        tape.say(
            f"[rank{number}]:[E{tape.when('%m%d %H:%M:%S')}.771200311 ProcessGroupNCCL.cpp:1806] [PG ID 0 PG GUID 0(default_pg) Rank {number}] Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info. Last enqueued NCCL work: 29413, last completed NCCL work: 29410.This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or the scheduled collective, for some reason, didn't run. Additionally, this can be caused by GIL deadlock or other reasons such as network errors or bugs in the communications library (e.g. NCCL), etc.",
            f"[rank{number}]:[E{tape.when('%m%d %H:%M:%S')}.771911402 ProcessGroupNCCL.cpp:1594] [PG ID 0 PG GUID 0(default_pg) Rank {number}] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1, only active collectives: 0",
            f"[rank{number}]:[I{tape.when('%m%d %H:%M:%S')}.902 FlightRecorder.cpp:202] Dumping flight recorder to /tmp/nccl_trace/rank_{number}",
        )
    _ended(
        tape,
        [Exit(5, -6, 7125), Exit(0, -6, 7120), Exit(2, -6, 7122)],
        killed=(7121, 7123, 7124, 7126, 7127),
    )
    tape.say(
        "+ torchfrtrace --prefix rank_ /tmp/nccl_trace",
        "Not all ranks joining collective, sequence number: 29411",
        "internal record id: 29380",
        "group info: 1:mesh_dp_shard",
        "collective: nccl:_reduce_scatter_base",
        "missing ranks: {6}",
        "input sizes: [[218112000]]",
        "output sizes: [[27264000]]",
        "world size: 8",
        "expected ranks: {0, 1, 2, 3, 4, 5, 6, 7}",
        "collective state: scheduled",
    )
    return log(
        tape,
        "dump_of_the_recorder",
        "collective",
        1,
        _BASIS,
        command="NGPU=8 ./run_train.sh",
        why="rank 6 did not join; nothing shows why",
        torch="2.8.0",
    )


def _grouped_product_of_odd_rows() -> ComposedLog:
    tape = Tape(9202, "2025-09-02 10:00:00")
    tape.say(omp(tape, "2.8"))
    tape.say(
        *(
            f"[rank0]:[titan] {tape.milli()} - root - INFO - {text}"
            for text in (
                "Starting job: DeepSeek-V3 16B model training",
                "Building 2-D device mesh with ['dp_shard_mod_ep', 'dp_shard_in_ep'], [2, 4]",
                "Float8 training active, filtered modules: ['output', 'router.gate']",
                "Swapped to Float8Linear layers with enable_fsdp_float8_all_gather=False",
                "Float8MoE: using torch._scaled_grouped_mm for experts",
                "Total parameter count: dense 1,270,104,064, sparse 14,435,647,488, active 2,664,694,784",
                "Applied full activation checkpointing to the model",
                "Training starts at step 1",
            )
        ),
        "/opt/venv/lib/python3.12/site-packages/torchao/prototype/moe_training/conversion_utils.py:75: UserWarning: Quantized MoE training is experimental\n  warnings.warn(",
        mixed(
            tape,
            *(
                _trace(
                    number,
                    """
                    torchtitan/train.py:631 train | self.train_step(data_iterator)
                    torchtitan/train.py:498 forward_backward_step | pred = model_parts[0](inputs, eos_id=self.tokenizer.eos_id)
                    CALL 2.8
                    torchtitan/models/moe.py:117 _run_experts_grouped_mm | h = F.silu(torch._grouped_mm(x.bfloat16(), w1.bfloat16().transpose(-2, -1), offs=offsets))
                    @torchao/prototype/moe_training/scaled_grouped_mm.py:171 forward | return torch._scaled_grouped_mm(
                    """,
                    "RuntimeError: strides should be multiple of 16 bytes",
                )
                for number in (1, 3)
            ),
        ),
    )
    _ended(tape, [Exit(3, 1, 4413), Exit(1, 1, 4411)], killed=(4410, 4412, 4414, 4415, 4416, 4417))
    return log(
        tape,
        "grouped_product_of_odd_rows",
        "shape_mismatch",
        1,
        _BASIS,
        command="CONFIG_FILE=deepseek_v3_16b.toml ./run_train.sh",
        paper_class="runtime_error",
        why="the experts' rows have a length that the grouped product does not take",
        torch="2.8.0",
        torchao="0.12.0",
    )


def _link_between_two_cards() -> ComposedLog:
    tape = Tape(9203, "2025-11-19 14:00:00")
    _titan(tape, range(10, 331, 10))
    tape.say(
        kernel(
            tape,
            "b200-11",
            xid(
                "0000:9b:00",
                144,
                "SAW MVB Nonfatal XC0 i0 Link 04 (0x00004c05 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
                pid=None,
            ),
            xid(
                "0000:9b:00",
                145,
                "RLW RLW_REMAP Fatal XC1 i0 Link 04 (0x00086444 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
            ),
            xid(
                "0000:9b:00",
                149,
                "NETIR NETIR_LINK_DOWN Fatal XC0 i0 Link 04 (0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
            ),
            form="dmesg -T",
        ),
        _trace(
            4,
            """
            torchtitan/train.py:631 train | self.train_step(data_iterator)
            torchtitan/train.py:560 train_step | dist_utils.clip_grad_norm_(
            torchtitan/distributed/utils.py:371 clip_grad_norm_ | total_norm = total_norm.full_tensor()
            """,
            cuda_error("2.8", "uncorrectable NVLink error detected during the execution"),
        ),
    )
    for number in (1, 6):
        tape.say(
            f"[rank{number}]:[W{tape.when('%m%d %H:%M:%S')}.{tape.rng.randrange(10**9):09d} TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=94, addr=[b200-11]:5{number}120, remote=[b200-11]:29500): Connection reset by peer"
        )
    _ended(
        tape,
        [Exit(4, 1, 9004)],
        host="b200-11",
        killed=(9000, 9001, 9002, 9003, 9005, 9006, 9007),
    )
    return log(
        tape,
        "link_between_two_cards",
        "gpu_hardware",
        1,
        _BASIS,
        command="srun torchrun -m torchtitan.train",
        paper_class="cuda_runtime",
        torch="2.8.0",
    )


def _symmetric_pool_too_small() -> ComposedLog:
    tape = Tape(9204, "2025-12-10 08:30:00")
    _titan(tape, range(1, 4), card="H100 80GB HBM3", tensor=True)
    tape.say(
        mixed(
            tape,
            *(
                _trace(
                    number,
                    """
                    torchtitan/train.py:498 forward_backward_step | pred = model_parts[0](inputs)
                    CALL 2.8
                    @torch/_inductor/output_code.py:584 __call__ | return self.current_callable(inputs)
                    /tmp/torchinductor_root/fk/cfkxq2.py:1904 call | buf12 = torch.ops.symm_mem.fused_all_gather_matmul.default(buf4, [arg3_1], 0, '6', True)
                    @torch/distributed/_symmetric_memory/__init__.py:131 get_symm_mem_workspace | tensor = _SymmetricMemory.empty_strided_p2p((min_size,), [1], torch.uint8, torch.device(f"cuda:{torch.cuda.current_device()}"), group_name)
                    """,
                    "RuntimeError: CUDA driver error: out of memory",
                )
                for number in (2, 5)
            ),
        ),
    )
    _ended(
        tape,
        [Exit(5, 1, 3105), Exit(2, 1, 3102)],
        host="hgx-21",
        killed=(3100, 3101, 3103, 3104, 3106, 3107),
    )
    return log(
        tape,
        "symmetric_pool_too_small",
        "cuda_oom",
        1,
        _BASIS,
        command="./run_train.sh --parallelism.enable_async_tensor_parallel",
        torch="2.8.0",
    )


def _planner_of_another_model() -> ComposedLog:
    tape = Tape(9205, "2025-10-30 19:00:30")
    tape.say(
        omp(tape, "2.8"),
        *(
            f"[rank0]:[titan] {tape.milli()} - root - INFO - {text}"
            for text in (
                "Starting job: Qwen3 32B continued pretraining",
                "Building 2-D device mesh with ['dp_shard', 'tp'], [8, 4]",
                "Applied Tensor Parallelism to the model",
                "Applied FSDP to the model",
                "Checkpointing active. Checkpoints will be loaded from and saved to /lustre/runs/q32/checkpoint",
                "Loading the checkpoint from /lustre/runs/q32/checkpoint/step-4000.",
            )
        ),
        *(f"[rank{at}]:NCCL version 2.27.3+cuda12.9" for at in (0, 8)),
        mixed(
            tape,
            *(
                _trace(
                    number,
                    """
                    torchtitan/train.py:690 <module> | trainer.train()
                    torchtitan/train.py:610 train | self.checkpointer.load(step=job_config.checkpoint.load_step)
                    torchtitan/components/checkpoint.py:577 load | self.dcp_load(states, checkpoint_id=checkpoint_id, from_hf=from_hf)
                    @torch/distributed/checkpoint/state_dict_loader.py:188 load | _load_state_dict(
                    @torch/distributed/checkpoint/utils.py:235 reduce_scatter | raise result
                    """,
                    "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([0, 1, 2, 3, 4, 5, 6, 7])\n"
                    + traceback(
                        """
                        @torch/distributed/checkpoint/utils.py:192 reduce_scatter | local_data = map_fun()
                        @torch/distributed/checkpoint/state_dict_loader.py:243 local_step | local_plan = planner.create_local_plan()
                        @torch/distributed/checkpoint/default_planner.py:374 create_local_plan | return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)
                        """,
                        "RuntimeError: Missing key in checkpoint state_dict: layers.0.attention.q_norm.weight.",
                        site=_SITE,
                    ),
                )
                for number in (0, 3, 9)
            ),
        ),
    )
    _ended(
        tape,
        [Exit(0, 1, 5110), Exit(3, 1, 5113), Exit(9, 1, 6011, local=1)],
        host="hgx-02",
        killed=(5111, 5112, 5114, 5115, 5116, 5117),
    )
    return log(
        tape,
        "planner_of_another_model",
        "checkpoint",
        1,
        _BASIS,
        command="srun torchrun -m torchtitan.train --checkpoint.enable",
        paper_class="runtime_error",
        torch="2.8.0",
    )


def _quorum_that_shrank_for_good() -> ComposedLog:
    tape = Tape(9206, "2025-08-27 06:11:00")
    _titan(tape, range(1, 61, 2))
    for step in range(62, 66):
        tape.wait(60)
        now = tape.when("%Y-%m-%dT%H:%M:%S") + f".{tape.rng.randrange(1000):03d}"
        tape.say(
            f"{now} [INFO] [torchft::manager] - [Replica titan_ft_0] Start quorum for group_rank 0",
            f"{now} [INFO] [torchft::lighthouse] - Next quorum status: New quorum not ready, only have 1 participants, need min_replicas 2 [1/1 participants healthy][1 heartbeating][shrink_only=false]",
            f"{now} [WARN] [torchft::lighthouse] - Replica titan_ft_1 heartbeat is stale, last seen {60 * (step - 61)}s ago",
        )
    tape.say(
        _trace(
            0,
            """
            torchtitan/train.py:631 train | self.train_step(data_iterator)
            torchtitan/components/optimizer.py:331 zero_grad | super().zero_grad(*args, **kwargs)
            @torchft/manager.py:568 start_quorum | self._quorum_future.result()
            @torchft/manager.py:611 _async_quorum | quorum = self._client._quorum(group_rank=self._group_rank, step=self._step, timeout=quorum_timeout)
            """,
            'TimeoutError: status: DeadlineExceeded, message: "Timeout expired", details: [], metadata: MetadataMap { headers: {} }',
        ),
        "+ kubectl get nodes -l pool=b200",
        "NAME      STATUS                        ROLES    AGE   VERSION\nb200-03   Ready                         <none>   61d   v1.31.6\nb200-04   NotReady,SchedulingDisabled   <none>   61d   v1.31.6",
        "+ kubectl describe node b200-04 | grep -A3 Conditions",
        "Conditions:\n  Type    Status   LastHeartbeatTime                 Reason              Message\n  Ready   Unknown  Wed, 27 Aug 2025 06:12:41 +0000   NodeStatusUnknown   Kubelet stopped posting node status.",
        "+ kubectl -n train get pods -o wide | grep titan-ft-1",
        "titan-ft-1-0   1/1   Terminating   0   2d   10.60.3.8   b200-04   <none>   <none>",
    )
    _ended(tape, [Exit(0, 1, 301)], host="titan-ft-0-0", killed=(302, 303, 304, 305, 306, 307, 308))
    return log(
        tape,
        "quorum_that_shrank_for_good",
        "node_failure",
        1,
        _BASIS,
        command="TORCHFT_LIGHTHOUSE=http://lighthouse:29510 ./run_train.sh --fault_tolerance.enable",
        paper_class="traceback",
        why="the node of the other replica was lost; the quorum's time-out follows",
        torch="2.8.0",
        torchft="0.1.1",
    )


def _megatron(tape: Tape, first: int, last: int, *, nan: int = 0) -> None:
    for at in range(first, last + 1):
        tape.wait(11)
        loss = "NAN" if nan and at >= nan else f"{tape.near(2.1 + 3 / (1 + at / 60), 0.01):.6E}"
        norm = "nan" if nan and at >= nan else f"{tape.near(0.8, 0.4):.3f}"
        skipped = 1 if nan and at >= nan else 0
        tape.say(
            f" [{tape.when()}.{tape.rng.randrange(10**6):06d}] iteration {at:8d}/  250000 | consumed samples: {at * 1024:12d} | elapsed time per iteration (ms): {tape.near(10840, 0.01):.1f} | throughput per GPU (TFLOP/s/GPU): {tape.near(611, 0.01):.1f} | learning rate: 2.400000E-04 | global batch size:  1024 | lm loss: {loss} | load_balancing_loss: {tape.near(1.02, 0.01):.6E} | loss scale: 1.0 | grad norm: {norm} | number of skipped iterations: {skipped:3d} | number of nan iterations: {skipped:3d} |"
        )


def _pipeline_layers() -> ComposedLog:
    tape = Tape(9207, "2025-10-15 10:15:00")
    tape.say(
        omp(tape, "2.8"),
        "WARNING: TensorBoard writing requested but is not available (are you using PyTorch 1.1.0 or later?), no TensorBoard logs will be written.",
        "using world size: 64, data-parallel size: 1, context-parallel size: 2, hierarchical context-parallel sizes: None, tensor-model-parallel size: 4, pipeline-model-parallel size: 8",
        "WARNING: Setting args.check_for_nan_in_loss_and_grad to False since dynamic loss scaling is being used",
        "using torch.bfloat16 for parameters ...",
        "------------------------ arguments ------------------------",
        *(
            f"  {name} {'.' * (48 - len(name))} {value}"
            for name, value in {
                "accumulate_allreduce_grads_in_fp32": True,
                "add_bias_linear": False,
                "attention_backend": "AttnBackend.flash",
                "check_for_nan_in_loss_and_grad": False,
                "context_parallel_size": 2,
                "distributed_timeout_minutes": 10,
                "error_injection_rate": 0,
                "expert_model_parallel_size": 8,
                "fp8": "hybrid",
                "fp8_recipe": "blockwise",
                "moe_permute_fusion": True,
                "num_layers": 62,
                "num_virtual_stages_per_pipeline_rank": 2,
                "overlap_p2p_comm": True,
                "pipeline_model_parallel_size": 8,
                "rerun_mode": "validate_results",
                "sequence_parallel": True,
                "world_size": 64,
            }.items()
        ),
        "-------------------- end of arguments ---------------------",
        "> building GPT2BPETokenizer tokenizer ...",
        mixed(
            tape,
            *(
                _trace(
                    number,
                    """
            pretrain_gpt.py:290 <module> | pretrain(
            megatron/training/training.py:801 pretrain | initialize_megatron(
            megatron/training/initialize.py:83 initialize_megatron | validate_args(args, args_defaults)
            megatron/training/arguments.py:566 validate_args | assert num_layers % args.transformer_pipeline_model_parallel_size == 0, \\
            """,
                    "AssertionError: Number of layers should be divisible by the pipeline-model-parallel size",
                    root="/opt/Megatron-LM",
                )
                for number in (0, 2, 5)
            ),
        ),
    )
    _ended(
        tape,
        [Exit(2, 1, 881), Exit(0, 1, 879), Exit(5, 1, 884)],
        script="/opt/Megatron-LM/pretrain_gpt.py",
        host="gb-001",
        killed=(880, 882, 883, 885, 886),
    )
    return log(
        tape,
        "pipeline_layers",
        "config",
        1,
        _BASIS,
        command="torchrun --nnodes 8 pretrain_gpt.py --num-layers 62 --pipeline-model-parallel-size 8",
        paper_class="assertion",
        why="sizes that do not divide, behind an assertion",
        megatron_core="0.14.0",
    )


def _token_bins_not_there() -> ComposedLog:
    tape = Tape(9208, "2025-09-23 09:00:00")
    tape.say(
        omp(tape, "2.8"),
        "[NeMo W 2025-09-23 09:00:41 nemo_logging:405] /opt/venv/lib/python3.12/site-packages/pydub/utils.py:170: RuntimeWarning: Couldn't find ffmpeg or avconv - defaulting to ffmpeg, but may not work\n      warn(\"Couldn't find ffmpeg or avconv - defaulting to ffmpeg, but may not work\", RuntimeWarning)\n    ",
        '[NeMo W 2025-09-23 09:00:44 nemo_logging:405] "update_logger_directory" is True. Overwriting tensorboard logger "save_dir" to /results/tb_logs',
        "[NeMo I 2025-09-23 09:00:44 nemo_logging:393] Experiments will be logged at /results/llama31_8b/2025-09-23_09-00-44",
        "[NeMo W 2025-09-23 09:00:44 nemo_logging:405] The Trainer already contains a ModelCheckpoint callback. This will be overwritten.",
        "GPU available: True (cuda), used: True\nTPU available: False, using: 0 TPU cores\nHPU available: False, using: 0 HPUs",
        *(f"Initializing distributed: GLOBAL_RANK: {at}, MEMBER: {at + 1}/8" for at in range(8)),
        "----------------------------------------------------------------------------------------------------\ndistributed_backend=nccl\nAll distributed processes registered. Starting with 8 processes\n----------------------------------------------------------------------------------------------------\n",
        "[NeMo I 2025-09-23 09:01:20 utils:302] Building GPTDataset splits with sizes=[5120000, 512000, 51200] and config=GPTDatasetConfig(random_seed=1234, sequence_length=8192, blend=(['/data/slim/train-000_text_document'], None), split='900,50,50')",
        mixed(
            tape,
            *(
                f"[default{number}]:"
                + f"\n[default{number}]:".join(
                    traceback(
                        """
            /workspace/pretrain.py:61 <module> | run.run(recipe, executor=executor, direct=True)
            @nemo/collections/llm/gpt/data/pre_training.py:264 build | self._train_ds, self._validation_ds, self._test_ds = BlendedMegatronDatasetBuilder(
            @megatron/core/datasets/indexed_dataset.py:444 initialize | raise FileNotFoundError(
            """,
                        "FileNotFoundError: One or both of the .idx and .bin files cannot be found at the path prefix /data/slim/train-000_text_document",
                        site=_SITE,
                        carets=True,
                    ).split("\n")
                )
                for number in (0, 4)
            ),
        ),
    )
    _ended(
        tape,
        [Exit(4, 1, 1204), Exit(0, 1, 1200)],
        script="/workspace/pretrain.py",
        host="dgx-h100-3",
        killed=(1201, 1202, 1203, 1205, 1206, 1207),
    )
    return log(
        tape,
        "token_bins_not_there",
        "file_not_found",
        1,
        _BASIS,
        command="torchrun --nproc-per-node 8 /workspace/pretrain.py",
        nemo="2.4.0",
    )


def _grads_not_finite() -> ComposedLog:
    tape = Tape(9209, "2025-11-07 23:00:00")
    tape.say(
        omp(tape, "2.8"),
        "> finished creating GPT datasets ...",
        "[before the start of training step] datetime: 2025-11-07 23:01:12 ",
    )
    _megatron(tape, 41200, 41236)
    tape.say(
        "[rank17]:WARNING:megatron.core.rerun_state_machine:Unexpected result tensor(inf, device='cuda:1') on rank 17 at iteration #41237 invocation #1 (message='found Inf in local grad norm for bucket #0 in backward pass before data-parallel communication collective')",
        "[rank17]:WARNING:megatron.core.rerun_state_machine:Need to rerun step to check reproducibility of initial result",
        "[rank17]:WARNING:megatron.core.rerun_state_machine:First rerun: unexpected result is reproducible within the same rank, will need to rerun on a different GPU to verify correctness",
        "[rank17]:WARNING:megatron.core.rerun_state_machine:Second rerun: unexpected result is also reproducible on a different GPU, therefore was likely correct",
    )
    _megatron(tape, 41237, 41243, nan=41238)
    tape.say(
        _trace(
            17,
            """
            pretrain_gpt.py:290 <module> | pretrain(
            megatron/training/training.py:1514 train_step | update_successful, grad_norm, num_zeros_in_grad = optimizer.step()
            megatron/core/distributed/param_and_grad_buffer.py:233 check_grads | rerun_state_machine.validate_result(
            megatron/core/rerun_state_machine.py:477 validate_result | raise RuntimeError(full_message)
            """,
            "RuntimeError: Rank 17, node gb-003, device 1, iteration 41243: Unexpected result nan (message='found NaN in local grad norm for bucket #0 in backward pass before data-parallel communication collective')",
            root="/opt/Megatron-LM",
        ),
    )
    _ended(
        tape,
        [Exit(17, 1, 6611, local=1)],
        script="/opt/Megatron-LM/pretrain_gpt.py",
        host="gb-003",
        killed=(6610, 6612, 6613, 6614),
    )
    return log(
        tape,
        "grads_not_finite",
        "nan_loss",
        1,
        _BASIS,
        command="torchrun --nnodes 8 pretrain_gpt.py --rerun-mode validate_results",
        why="reproducible on another card: not the hardware",
        megatron_core="0.14.0",
    )


def _healed_replicas() -> ComposedLog:
    tape = Tape(9210, "2025-07-30 12:00:00")
    _titan(tape, range(1, 30, 2))
    now = tape.when("%Y-%m-%dT%H:%M:%S")
    tape.say(
        f"{now}.102 [WARN] [torchft::manager] - [Replica titan_ft_0] got exception in all reduce -- skipping remaining: NCCL error: remote process exited or there was a network error, NCCL version 2.27.3",
        f"{now}.103 [ERROR] [torchft::process_group] - ProcessGroupNCCL aborted: Accessing failed communicator",
        f"{now}.288 [INFO] [torchft::manager] - [Replica titan_ft_0] should_commit=False enough_replicas=True, errored=ExceptionWithTraceback(RuntimeError('NCCL Error 6: remote process exited or there was a network error'))",
        f"{now}.420 [INFO] [torchft::lighthouse] - Detected quorum change, bumping quorum_id to 4",
        f"{now}.644 [INFO] [torchft::manager] - [Replica titan_ft_0] reconfiguring for quorum_id=4 store_address=10.60.3.4:29600/torchft/4/0",
        f"{now}.981 [INFO] [torchft::manager] - [Replica titan_ft_1] healing is required step=0, max_step=30, recover_src_replica_rank=0",
    )
    _titan(tape, range(31, 101), start=False)
    tape.say(
        f"[rank0]:[titan] {tape.milli()} - root - INFO - Sleeping 2 seconds for other ranks to complete",
        f"[rank0]:[titan] {tape.milli()} - root - INFO - Training completed",
        f"[rank0]:[titan] {tape.milli()} - root - INFO - Process group destroyed",
    )
    return log(
        tape,
        "healed_replicas",
        "none",
        0,
        _BASIS,
        command="./run_train.sh --fault_tolerance.enable --training.steps 100",
        torch="2.8.0",
        torchft="0.1.1",
    )
