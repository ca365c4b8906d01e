"""Megatron-LM and NeMo on several H100 nodes, logs of several ranks in one file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from corpus.compose._gpu_hosts import kernel, nccl_start, xid
from corpus.compose._gpu_tape import Tape, marked, mixed, rank, traceback
from corpus.compose._gpu_torch import Exit, cuda_error, oom, summary, watchdog, watchdog_cuda
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of Megatron-LM, NeMo, Transformer Engine and PyTorch"
_SITE = "/usr/local/lib/python3.12/dist-packages"
_ROOT = "/opt/megatron-lm"
_ARGUMENTS = (
    ("accumulate_allreduce_grads_in_fp32", "True"),
    ("adlr_autoresume", "False"),
    ("check_for_large_grads", "False"),
    ("check_for_nan_in_loss_and_grad", "True"),
    ("ckpt_assume_constant_structure", "False"),
    ("ckpt_fully_parallel_save", "True"),
    ("distributed_backend", "nccl"),
    ("distributed_timeout_minutes", "10"),
    ("error_injection_rate", "0"),
    ("error_injection_type", "transient_error"),
    ("exit_on_missing_checkpoint", "True"),
    ("exit_signal_handler", "False"),
    ("fp16_lm_cross_entropy", "False"),
    ("hysteresis", "2"),
    ("inprocess_hard_timeout", "90"),
    ("log_throughput", "True"),
    ("loss_scale_window", "1000"),
    ("manual_gc", "False"),
    ("no_load_optim", "None"),
    ("rerun_mode", "validate_results"),
    ("straggler_minmax_count", "1"),
    ("tp_comm_overlap", "False"),
)
_STEP = (
    " [{when}.{part:06d}] iteration {step:8d}/  500000 | consumed samples: {seen:12d} | elapsed time per iteration (ms): {ms:.1f} | throughput per GPU (TFLOP/s/GPU): {flops:.1f} | "
    "learning rate: {lr:.6E} | global batch size:  1024 | lm loss: {loss:.6E} | loss scale: {scale} | grad norm: {norm:.3f} | number of skipped iterations: {skipped:3d} | number of nan iterations: {nan:3d} |"
)


def logs() -> Iterator[ComposedLog]:
    """NaN guards, groups that stall, broken cards, bad indexes and checkpoints, long good runs."""
    yield _nan_in_local_gradient()
    yield _pipeline_receive_timed_out()
    yield _optimizer_states_do_not_fit()
    yield _heads_do_not_divide()
    yield _engine_not_installed()
    yield _index_file_has_wrong_magic()
    yield _checkpoint_of_another_parallelism()
    yield _nvlink_under_the_watchdogs()
    yield _ended_with_skipped_iterations()
    yield _loss_scale_ran_out()
    yield _vocab_assert_under_noise()


def _arguments(tape: Tape, world: int, tensor: int, pipe: int) -> None:
    tape.say(
        f"using world size: {world}, data-parallel size: {world // tensor // pipe}, context-parallel size: 1, hierarchical context-parallel sizes: None, tensor-model-parallel size: {tensor}, pipeline-model-parallel size: {pipe}",
        "Number of virtual stages per pipeline stage: None",
        "using torch.bfloat16 for parameters ...",
        "------------------------ arguments ------------------------",
        "\n".join(f"  {name} {'.' * (48 - len(name))} {value}" for name, value in _ARGUMENTS),
        "-------------------- end of arguments ---------------------",
        "> building HuggingFaceTokenizer tokenizer ...",
        " > padded vocab (size: 128256) with 0 dummy tokens (new size: 128256)",
        "> initialized tensor model parallel with size " + str(tensor),
        "> setting random seeds to 1234 ...",
    )
    tape.wait(40)


def _iterations(
    tape: Tape,
    numbers: Sequence[int],
    *,
    loss: float = 2.31,
    ms: float = 4210.0,
    scale: str = "1.0",
    skipped: int = 0,
) -> None:
    for at in numbers:
        tape.wait(ms / 1000 * 10)
        tape.say(
            _STEP.format(
                when=tape.when(),
                part=tape.rng.randrange(10**6),
                step=at,
                seen=at * 1024,
                ms=tape.near(ms, 0.01),
                flops=tape.near(421, 0.01),
                lr=1.5e-4,
                loss=tape.near(loss, 0.01),
                scale=scale,
                norm=tape.near(0.31, 0.2),
                skipped=skipped,
                nan=0,
            )
        )


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root=_ROOT, site=_SITE, carets=True)


_PRETRAIN = """
pretrain_gpt.py:304 <module> | pretrain(
megatron/training/training.py:437 pretrain | iteration, num_floating_point_operations_so_far = train(
megatron/training/training.py:1571 train | loss_dict, skipped_iter, should_checkpoint, should_exit, exit_code, grad_norm, num_zeros_in_grad = train_step(
megatron/training/training.py:841 train_step | losses_reduced = forward_backward_func(
"""


def _nan_in_local_gradient() -> ComposedLog:
    tape = Tape(501, "2025-02-08 05:12:44")
    _arguments(tape, 64, 4, 2)
    _iterations(tape, range(41210, 41350, 10))
    tape.wait(14).say(
        rank(
            37,
            _trace(
                _PRETRAIN
                + """
megatron/core/pipeline_parallel/schedules.py:1776 forward_backward_pipelining_without_interleaving | config.grad_sync_func[0](model.parameters())
megatron/core/distributed/param_and_grad_buffer.py:138 check_grads | rerun_state_machine.validate_result(
megatron/core/rerun_state_machine.py:488 validate_result | raise RuntimeError(full_message)
""",
                "RuntimeError: Rank 37, node pod-b-04, device 5, iteration 41342: Unexpected result nan (message='found NaN in local grad norm for bucket #3 in backward pass before data-parallel communication collective')",
            ),
        )
    )
    tape.say(
        summary(
            tape,
            "2.5",
            "pretrain_gpt.py",
            [Exit(37, 1, 90377, 5)],
            host="pod-b-04",
            killed=range(90372, 90377),
            site=_SITE,
            binary="/usr/bin/python",
        )
    )
    for at in (8, 40):
        tape.say(
            f"[rank{at}]:[E{tape.at.month}{tape.when('%d %H:%M:%S')}.402339817 ProcessGroupNCCL.cpp:1785] [PG ID 4 PG GUID 21(DATA_PARALLEL_GROUP_WITH_CP) Rank {at // 8}] Exception (either an error or timeout) detected by watchdog at work: 330711, last enqueued NCCL work: 330714, last completed NCCL work: 330710."
        )
    return ComposedLog(
        "nan_in_local_gradient",
        "nan_loss",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py",
        versions={"torch": "2.5.0", "megatron-core": "0.10.0"},
        paper_class="nan_loss",
    )


def _pipeline_receive_timed_out() -> ComposedLog:
    tape = Tape(502, "2024-12-03 23:40:10")
    _arguments(tape, 32, 4, 4)
    _iterations(tape, range(7710, 7790, 10), ms=5120)
    tape.wait(611)
    dogs = [
        watchdog(
            tape,
            "2.5",
            at,
            seq=61744 + at % 2,
            op="COALESCED",
            numel=(18446744073709551615, 18446744073709551615),
            group=f"PG ID {at} PG GUID {22 + at}(PIPELINE_MODEL_PARALLEL_GROUP)",
            ahead=4,
        )
        for at in (9, 11, 17)
    ]
    tape.say(mixed(tape, *dogs))
    tape.say(
        summary(
            tape,
            "2.5",
            "pretrain_gpt.py",
            [Exit(9, -6, 8830, 1), Exit(11, -6, 8832, 3)],
            host="pod-a-11",
            site=_SITE,
            binary="/usr/bin/python",
        )
    )
    return ComposedLog(
        "pipeline_receive_timed_out",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py",
        versions={"torch": "2.5.0"},
        paper_class="nccl",
    )


def _optimizer_states_do_not_fit() -> ComposedLog:
    tape = Tape(503, "2025-04-01 12:03:06")
    _arguments(tape, 8, 2, 1)
    tape.say(
        " > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 6738415616",
        " > number of parameters on (tensor, pipeline) model parallel rank (1, 0): 6738415616",
        "INFO:megatron.core.distributed.param_and_grad_buffer:Number of buckets for gradient all-reduce / reduce-scatter: 1",
        rank(
            3,
            _trace(
                """
                pretrain_gpt.py:304 <module> | pretrain(
                megatron/training/training.py:370 pretrain | model, optimizer, opt_param_scheduler = setup_model_and_optimizer(
                megatron/training/training.py:693 setup_model_and_optimizer | optimizer = get_megatron_optimizer(
                megatron/core/optimizer/__init__.py:507 get_megatron_optimizer | _get_megatron_optimizer_based_on_param_groups(
                megatron/core/optimizer/optimizer.py:541 __init__ | main_param = param.detach().clone().float()
                """,
                oom(
                    "2.6",
                    "224.00 MiB",
                    gpu=3,
                    free="112.19 MiB",
                    used="79.00 GiB",
                    allocated="77.26 GiB",
                    idle="41.08 MiB",
                ),
            ),
        ),
        summary(
            tape,
            "2.6",
            "pretrain_gpt.py",
            [Exit(3, 1, 2013)],
            host="pod-a-02",
            killed=[2010, 2011, 2012, 2014, 2015, 2016, 2017],
            site=_SITE,
            binary="/usr/bin/python",
        ),
    )
    return ComposedLog(
        "optimizer_states_do_not_fit",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc-per-node 8 pretrain_gpt.py",
        versions={"torch": "2.6.0"},
    )


def _heads_do_not_divide() -> ComposedLog:
    tape = Tape(504, "2024-10-15 09:00:12")
    tape.say(
        "using world size: 48, data-parallel size: 8, context-parallel size: 1, tensor-model-parallel size: 6, encoder-tensor-model-parallel size: 0, pipeline-model-parallel size: 1, encoder-pipeline-model-parallel size: 0",
        "WARNING: Setting args.check_for_nan_in_loss_and_grad to False since dynamic loss scaling is being used",
    )
    told = [
        _trace(
            """
            pretrain_gpt.py:265 <module> | pretrain(
            megatron/training/training.py:215 pretrain | initialize_megatron(
            megatron/training/initialize.py:72 initialize_megatron | validate_args(args, args_defaults)
            megatron/core/transformer/transformer_config.py:391 __post_init__ | raise ValueError(
            """,
            "ValueError: num_attention_heads (32) must be a multiple of tensor_model_parallel_size (6).",
        )
    ] * 3
    tape.say(mixed(tape, *told))
    tape.say(
        summary(
            tape,
            "2.4",
            "pretrain_gpt.py",
            [Exit(0, 1, 400), Exit(1, 1, 401), Exit(2, 1, 402)],
            host="pod-a-01",
            site=_SITE,
            binary="/usr/bin/python",
        )
    )
    return ComposedLog(
        "heads_do_not_divide",
        "config",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 6 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 6",
        versions={"torch": "2.4.0"},
        paper_class="traceback",
    )


def _engine_not_installed() -> ComposedLog:
    tape = Tape(505, "2024-07-30 10:20:31")
    tape.say(
        "fused_indices_to_multihot has reached end of life. Please migrate to a non-experimental function.",
        f"{_ROOT}/megatron/core/tensor_parallel/layers.py:274: UserWarning: gradient accumulation fusion is not available: No module named 'fused_weight_gradient_mlp_cuda'",
        "[NeMo W 2024-07-30 10:20:39 nemo_logging:349] apex is not installed; falling back to torch RMSNorm",
        rank(
            0,
            _trace(
                """
                pretrain_gpt.py:17 <module> | from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_with_transformer_engine_spec
                megatron/core/models/gpt/gpt_layer_specs.py:40 <module> | from megatron.core.transformer.custom_layers.transformer_engine import (
                megatron/core/transformer/custom_layers/transformer_engine.py:8 <module> | import transformer_engine as te
                """,
                "ModuleNotFoundError: No module named 'transformer_engine'",
            ),
        ),
        "srun: error: pod-a-02: task 0: Exited with exit code 1",
    )
    return ComposedLog(
        "engine_not_installed",
        "missing_module",
        1,
        tape.text(),
        _BASIS,
        command="srun python pretrain_gpt.py --transformer-impl transformer_engine",
        versions={"torch": "2.3.0", "megatron-core": "0.8.0"},
        why="the notices on the other two modules were fallen back from",
    )


def _index_file_has_wrong_magic() -> ComposedLog:
    tape = Tape(506, "2025-01-05 16:10:55")
    _arguments(tape, 16, 2, 1)
    tape.say(
        "> building train, validation, and test datasets for GPT ...",
        "INFO:megatron.core.datasets.blended_megatron_dataset_config:Let split_matrix = [(0, 0.99), (0.99, 1.0), None]",
        "INFO:megatron.core.datasets.indexed_dataset:Load the _IndexReader from /lustre/corpora/web-0017_text_document.idx",
        rank(
            1,
            _trace(
                """
                pretrain_gpt.py:304 <module> | pretrain(
                megatron/training/training.py:392 pretrain | train_data_iterator, valid_data_iterator, test_data_iterator = build_train_valid_test_data_iterators(
                megatron/core/datasets/blended_megatron_dataset_builder.py:470 build_generic_dataset | dataset = cls(*args)
                megatron/core/datasets/gpt_dataset.py:166 build_low_level_dataset | return IndexedDataset(dataset_path, multimodal=False, mmap=config.mmap_bin_files)
                megatron/core/datasets/indexed_dataset.py:252 __init__ | assert header == _INDEX_HEADER, f"bad header, cannot read: {idx_path}"
                """,
                "AssertionError: bad header, cannot read: /lustre/corpora/web-0017_text_document.idx",
            ),
        ),
    )
    tape.wait(599).say(
        watchdog(
            tape,
            "2.5",
            0,
            seq=12,
            op="BROADCAST",
            numel=(3, 3),
            group="PG ID 2 PG GUID 5(TENSOR_MODEL_PARALLEL_GROUP)",
        ),
        watchdog(tape, "2.5", 8, seq=4, op="ALLREDUCE", stack=True),
        summary(
            tape,
            "2.5",
            "pretrain_gpt.py",
            [Exit(0, -6, 640), Exit(1, 1, 641)],
            host="pod-c-01",
            site=_SITE,
            binary="/usr/bin/python",
        ),
    )
    return ComposedLog(
        "index_file_has_wrong_magic",
        "data",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py",
        versions={"torch": "2.5.0"},
        paper_class="assertion",
        why="the assertion says that the corpus's index cannot be read",
    )


def _checkpoint_of_another_parallelism() -> ComposedLog:
    tape = Tape(507, "2024-09-09 09:09:41")
    _arguments(tape, 32, 8, 1)
    tape.say(
        " loading checkpoint from /lustre/ckpt/base-8b at iteration 120000",
        "(min, max) time across ranks (ms):\n    load-checkpoint ................................: (1180.22, 1181.90)",
        mixed(
            tape,
            *(
                rank(
                    at,
                    _trace(
                        """
                        pretrain_gpt.py:265 <module> | pretrain(
                        megatron/training/training.py:289 pretrain | model, optimizer, opt_param_scheduler = setup_model_and_optimizer(
                        megatron/training/checkpointing.py:1112 load_checkpoint | model[0].load_state_dict(state_dict['model'], strict=strict)
                        @torch/nn/modules/module.py:2215 load_state_dict | raise RuntimeError('Error(s) in loading state_dict for {}:\\n\\t{}'.format(
                        """,
                        "RuntimeError: Error(s) in loading state_dict for GPTModel:\n\tsize mismatch for embedding.word_embeddings.weight: copying a param with shape torch.Size([32064, 4096]) from checkpoint, the shape in current model is torch.Size([16032, 4096]).\n\tsize mismatch for decoder.layers.0.self_attention.linear_qkv.weight: copying a param with shape torch.Size([1536, 4096]) from checkpoint, the shape in current model is torch.Size([768, 4096]).",
                    ),
                )
                for at in (2, 3)
            ),
        ),
        summary(
            tape,
            "2.4",
            "pretrain_gpt.py",
            [Exit(2, 1, 3312), Exit(3, 1, 3313)],
            host="pod-a-05",
            site=_SITE,
            binary="/usr/bin/python",
        ),
    )
    return ComposedLog(
        "checkpoint_of_another_parallelism",
        "checkpoint",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py --load base-8b",
        versions={"torch": "2.4.0"},
        paper_class="runtime_error",
    )


def _nvlink_under_the_watchdogs() -> ComposedLog:
    tape = Tape(508, "2025-03-15 02:02:29")
    _arguments(tape, 16, 8, 1)
    tape.say(
        nccl_start(
            tape, "pod-d-09", range(5101, 5103), world=16, first=8, version="2.23.4+cuda12.6"
        )
    )
    _iterations(tape, range(880, 960, 10), ms=6071)
    tape.wait(601)
    for at in (8, 9, 12, 14):
        tape.say(
            watchdog(
                tape,
                "2.6",
                at,
                seq=940221,
                op="_ALLGATHER_BASE",
                numel=(4194304, 33554432),
                group="PG ID 1 PG GUID 3(TENSOR_MODEL_PARALLEL_GROUP)",
                ahead=1,
            )
        )
    tape.say(
        summary(
            tape,
            "2.6",
            "pretrain_gpt.py",
            [Exit(12, -6, 5105, 4), Exit(8, -6, 5101, 0), Exit(9, -6, 5102, 1)],
            host="pod-d-09",
            site=_SITE,
            binary="/usr/bin/python",
        ),
        "----- node watcher: pod-d-09, last 15 minutes -----",
        kernel(
            tape,
            "pod-d-09",
            xid(
                "0000:a1:00",
                145,
                "RLW_REMAP Nonfatal XC0 i0 Link 09 (0x00000004 0x80000000 0x00000000 0x00000000 0x00000000 0x00000000)",
            ),
            xid(
                "0000:a1:00",
                149,
                "NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004305c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
            ),
            xid(
                "0000:a1:00", 45, "Ch 00000012 caused by previous Xid 149", pid=5105, name="python3"
            ),
            "nvidia-nvlink: link 9 of GPU 4 is down, 17 of 18 links active",
        ),
    )
    return ComposedLog(
        "nvlink_under_the_watchdogs",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS + "; NVIDIA's Xid catalogue",
        command="torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py",
        versions={"torch": "2.6.0"},
        paper_class=None,
        why="the link fault in the kernel log precedes and explains the stalled group",
    )


def _ended_with_skipped_iterations() -> ComposedLog:
    tape = Tape(509, "2025-01-11 18:00:49")
    _arguments(tape, 128, 8, 2)
    _iterations(tape, range(499700, 499850, 10), loss=1.79, scale="262144.0")
    _iterations(tape, [499850], loss=1.80, scale="131072.0", skipped=1)
    tape.say(
        " WARNING: iteration 499851 straggler report | min tflops rank: 44 (388.1) | max tflops rank: 3 (428.8) | throttling suspected on pod-e-06",
        "Rerun state machine: transient result inequality at rank 91 (fatal=False), iteration re-run gave the same value: marked as tolerated",
    )
    _iterations(tape, range(499860, 500010, 10), loss=1.79, scale="131072.0")
    tape.say(
        "(min, max) time across ranks (ms):\n    evaluate .......................................: (91022.14, 91023.80)",
        "-----------------------------------------------------------------------------------------------------------------",
        " validation loss at iteration 500000 on validation set | lm loss value: 1.832104E+00 | lm loss PPL: 6.247017E+00 |",
        "-----------------------------------------------------------------------------------------------------------------",
        "saving checkpoint at iteration  500000 to /lustre/ckpt/run7 in torch_dist format",
        "  successfully saved checkpoint from iteration  500000 to /lustre/ckpt/run7 [ t 1/8, p 1/2 ]",
        "[after training is done] datetime: 2025-01-11 18:31:05 ",
    )
    return ComposedLog(
        "ended_with_skipped_iterations",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 16 --nproc-per-node 8 pretrain_gpt.py",
        versions={"torch": "2.5.0"},
        paper_class=None,
        why="one overflow was skipped, one result tolerated; the last iteration was reached and saved",
    )


def _loss_scale_ran_out() -> ComposedLog:
    tape = Tape(510, "2023-06-12 04:30:30")
    _arguments(tape, 16, 2, 2)
    _iterations(tape, range(2010, 2060, 10), loss=3.1, scale="65536.0")
    scale, at = 65536.0, 2060
    while at < 2400:
        _iterations(tape, [at], loss=8.9, scale=str(scale), skipped=10)
        if at > 2060:
            tape.lines[-1] = re.sub(r"(lm loss|grad norm): [^|]+\| ", "", tape.lines[-1])
        at, scale = at + 10, max(scale / 16, 1.0)
    tape.say(
        "saving checkpoint at iteration    2400 to /lustre/ckpt/fp16-run",
        "  successfully saved checkpoint at iteration    2400 to /lustre/ckpt/fp16-run",
        "exiting program at iteration 2400 datetime: 2023-06-12 05:12:12",
    )
    return ComposedLog(
        "loss_scale_ran_out",
        "nan_loss",
        0,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --fp16",
        versions={"torch": "2.0.0"},
        paper_class="nan_loss",
        why="every step is skipped at a loss scale of 1 for 300 iterations, and the loss column is gone",
    )


def _vocab_assert_under_noise() -> ComposedLog:
    tape = Tape(511, "2024-06-24 20:51:17")
    _arguments(tape, 8, 1, 1)
    _iterations(tape, range(10, 60, 10), loss=9.2)
    tape.say(
        marked(
            "",
            "\n".join(
                f"/opt/pytorch/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1237: indexSelectSmallIndex: block: [{b},0,0], thread: [{t},0,0] Assertion `srcIndex < srcSelectDimSize` failed."
                for b in (11, 12)
                for t in range(32, 40)
            ),
        ),
        watchdog_cuda(tape, "2.3", 6, "device-side assert triggered", group="PG 2"),
        rank(6, _trace(_PRETRAIN, cuda_error("2.3", "device-side assert triggered"))),
    )
    for at in (0, 4):
        tape.say(
            rank(
                at,
                f"torch.distributed.DistBackendError: [{at}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer",
            )
        )
    tape.say(
        summary(
            tape,
            "2.3",
            "pretrain_gpt.py",
            [Exit(6, -6, 776), Exit(0, 1, 770), Exit(4, 1, 774)],
            host="pod-a-03",
            site=_SITE,
            binary="/usr/bin/python",
        )
    )
    return ComposedLog(
        "vocab_assert_under_noise",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc-per-node 8 pretrain_gpt.py",
        versions={"torch": "2.3.0"},
    )
