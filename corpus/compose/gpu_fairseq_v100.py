"""fairseq, ESPnet, apex and launch.py programs of torch 1.7 to 1.13 on V100 nodes."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_tape import Tape, bar, chained, mixed, traceback
from corpus.compose._gpu_torch import Exit, cuda_error, oom, summary, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = (
    "sources of fairseq, apex, torch.distributed.launch of torch 1.7 to 1.13 and NCCL 2.7 to 2.14"
)
_SITE = "/opt/anaconda3/envs/fs/lib/python3.7/site-packages"


def logs() -> Iterator[ComposedLog]:
    """Old faces of memory, loss scale, spawn and NCCL failures."""
    yield _ran_out_of_memory_with_summary()
    yield _minimum_loss_scale()
    yield _recovered_from_oom()
    yield _unhandled_system_error()
    yield _cublas_not_initialized()
    yield _spawned_process_got_sigkill()
    yield _inconsistent_gradients()
    yield _watchdog_of_113()
    yield _apex_scale_to_zero()
    yield _subprocess_of_launch()
    yield _cudnn_not_initialized_busy()
    yield _unmatched_dictionary()


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root="/opt/fairseq", site=_SITE)


def _start(tape: Tape, cards: int = 8) -> None:
    tape.say(
        f"{tape.when()} | INFO | fairseq.distributed.utils | distributed init (rank 0): tcp://localhost:15417",
        f"{tape.when()} | INFO | fairseq_cli.train | {{'_name': None, 'common': {{'log_interval': 100, 'fp16': True, 'fp16_init_scale': 128, 'min_loss_scale': 0.0001, 'threshold_loss_scale': None, 'on_cpu_convert_precision': False, 'empty_cache_freq': 0}}, 'distributed_training': {{'nprocs_per_node': {cards}, 'ddp_backend': 'pytorch_ddp', 'broadcast_buffers': False, 'find_unused_parameters': False, 'heartbeat_timeout': -1}}, 'checkpoint': {{'restore_file': 'checkpoint_last.pt', 'maximize_best_checkpoint_metric': False}}}}",
        f"{tape.when()} | INFO | fairseq.tasks.translation | [en] dictionary: 32768 types",
        f"{tape.when()} | INFO | fairseq_cli.train | num. shared model params: 209,911,808 (num. trained: 209,911,808)",
        f"{tape.when()} | INFO | fairseq.utils | ***********************CUDA enviroments for all {cards} workers***********************",
        *(
            f"{tape.when()} | INFO | fairseq.utils | rank {at:3d}: capabilities =  7.0  ; total memory = 31.749 GB ; name = Tesla V100-SXM2-32GB"
            for at in range(cards)
        ),
        f"{tape.when()} | INFO | fairseq_cli.train | training on {cards} devices (GPUs/TPUs)",
        f"{tape.when()} | INFO | fairseq.trainer | No existing checkpoint found checkpoints/checkpoint_last.pt",
        f"{tape.when()} | INFO | fairseq.trainer | begin training epoch 1",
    )


def _inner(tape: Tape, updates: range, scale: int = 16) -> None:
    for at in updates:
        tape.wait(52)
        tape.say(
            f"{tape.when()} | INFO | train_inner | epoch 001:    {at} / 9412 loss={tape.near(12.2 / (1 + at / 3000), 0.02):.3f}, nll_loss={tape.near(11.4 / (1 + at / 3000), 0.02):.3f}, ppl={2 ** (11.4 / (1 + at / 3000)):.2f}, wps=61220.1, ups=1.92, wpb=31811.7, bsz=1080.1, num_updates={at}, lr={at * 1.25e-7:.4g}, gnorm={tape.near(1.9, 0.3):.3f}, loss_scale={scale}, train_wall=52, gb_free=20.1, wall={at // 2}"
        )


def _ran_out_of_memory_with_summary() -> ComposedLog:
    tape = Tape(1601, "2021-03-12 10:10:31")
    _start(tape)
    _inner(tape, range(100, 600, 100))
    tape.say(
        f"{tape.when()} | WARNING | fairseq.trainer | OOM: Ran out of memory with exception: CUDA out of memory. Tried to allocate 2.44 GiB (GPU 4; 31.75 GiB total capacity; 26.02 GiB already allocated; 1.63 GiB free; 28.71 GiB reserved in total by PyTorch)",
        f"{tape.when()} | WARNING | fairseq.trainer | |===========================================================================|\n|                  PyTorch CUDA memory summary, device ID 4                 |\n|---------------------------------------------------------------------------|\n|            CUDA OOMs: 1            |        cudaMalloc retries: 3         |\n|===========================================================================|\n|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n|---------------------------------------------------------------------------|\n| Allocated memory      |   26648 MB |   27011 MB |    9190 GB |    9164 GB |\n|---------------------------------------------------------------------------|\n| Active memory         |   26648 MB |   27011 MB |    9190 GB |    9164 GB |\n|---------------------------------------------------------------------------|\n| GPU reserved memory   |   29402 MB |   29402 MB |   71206 MB |   41804 MB |\n|===========================================================================|\n",
        f"{tape.when()} | ERROR | fairseq.trainer | OOM during optimization, irrecoverable",
        _trace(
            """
            /opt/anaconda3/envs/fs/bin/fairseq-train:33 <module> | sys.exit(load_entry_point('fairseq', 'console_scripts', 'fairseq-train')())
            fairseq/distributed/utils.py:328 call_main | torch.multiprocessing.spawn(
            @torch/multiprocessing/spawn.py:157 start_processes | while not context.join():
            @torch/multiprocessing/spawn.py:118 join | raise Exception(msg)
            """,
            "Exception: \n\n-- Process 4 terminated with the following error:\n"
            + _trace(
                "fairseq/trainer.py:866 train_step | raise e\nfairseq/trainer.py:810 train_step | self.optimizer.step(self.scaled_loss)",
                oom(
                    "1.8",
                    "2.44 GiB",
                    gpu=4,
                    total="31.75 GiB",
                    free="1.63 GiB",
                    used="28.71 GiB",
                    allocated="26.02 GiB",
                ),
            ),
        ),
    )
    return ComposedLog(
        "ran_out_of_memory_with_summary",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="fairseq-train data-bin --fp16",
        versions={"torch": "1.7.1", "fairseq": "0.10.2"},
    )


def _minimum_loss_scale() -> ComposedLog:
    tape = Tape(1602, "2020-12-01 20:20:59")
    _start(tape)
    _inner(tape, range(100, 900, 100))
    scale = 64.0
    while scale > 0.0001:
        tape.wait(1).say(
            f"{tape.when()} | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: {scale / 2}"
        )
        scale /= 2
    tape.say(
        _trace(
            """
            fairseq/trainer.py:830 train_step | grad_norm = self.clip_grad_norm(self.cfg.optimization.clip_norm)
            fairseq/optim/fp16_optimizer.py:419 clip_grad_norm | self.scaler.check_overflow(grad_norm)
            fairseq/optim/dynamic_loss_scaler.py:61 check_overflow | raise FloatingPointError(
            """,
            "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding. Try lowering the learning rate, using gradient clipping or increasing the batch size.",
        )
    )
    return ComposedLog(
        "minimum_loss_scale",
        "nan_loss",
        1,
        tape.text(),
        _BASIS,
        command="fairseq-train data-bin --fp16",
        versions={"torch": "1.7.0", "fairseq": "0.10.1"},
        paper_class="nan_loss",
    )


def _recovered_from_oom() -> ComposedLog:
    tape = Tape(1603, "2021-06-18 06:00:00")
    _start(tape, 4)
    _inner(tape, range(100, 500, 100))
    tape.say(
        f"{tape.when()} | WARNING | fairseq.trainer | OOM: Ran out of memory with exception: CUDA out of memory. Tried to allocate 1.10 GiB (GPU 1; 31.75 GiB total capacity; 27.51 GiB already allocated; 990.75 MiB free; 29.40 GiB reserved in total by PyTorch)",
        f"{tape.when()} | WARNING | fairseq.trainer | attempting to recover from OOM in forward/backward pass",
        f"{tape.when()} | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 8.0",
    )
    _inner(tape, range(500, 1600, 100), 8)
    tape.say(
        f"{tape.when()} | INFO | valid | epoch 001 | valid on 'valid' subset | loss 5.411 | nll_loss 3.902 | ppl 14.95 | wps 151022 | num_updates 1600 | best_loss 5.411",
        f"{tape.when()} | INFO | fairseq_cli.train | Stopping training due to num_updates: 1600 >= max_update: 1600",
        f"{tape.when()} | INFO | fairseq.checkpoint_utils | Saved checkpoint checkpoints/checkpoint_best.pt (epoch 1 @ 1600 updates, score 5.411) (writing took 7.91 seconds)",
        f"{tape.when()} | INFO | fairseq_cli.train | done training in 820.4 seconds",
    )
    return ComposedLog(
        "recovered_from_oom",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="fairseq-train data-bin --fp16 --max-update 1600",
        versions={"torch": "1.8.1", "fairseq": "0.10.2"},
        why="one batch was given up and one step skipped; training reached its last update",
    )


def _unhandled_system_error() -> ComposedLog:
    tape = Tape(1604, "2021-01-21 15:07:43")
    tape.say(
        "v100-1:2201:2201 [0] NCCL INFO Bootstrap : Using [0]ib0:192.168.100.1<0>\nv100-1:2201:2201 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\nv100-1:2201:2201 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:192.168.100.1<0>\nNCCL version 2.7.8+cuda10.2",
        "v100-2:1190:1271 [3] misc/ibvwrap.cc:252 NCCL WARN Call to ibv_reg_mr failed\nv100-2:1190:1271 [3] NCCL INFO transport/net_ib.cc:640 -> 2\nv100-2:1190:1271 [3] NCCL INFO include/net.h:21 -> 2\nv100-2:1190:1271 [3] NCCL INFO transport/net.cc:216 -> 2\nv100-2:1190:1271 [3] NCCL INFO init.cc:906 -> 2",
        _trace(
            """
            fairseq/distributed/utils.py:302 distributed_main | main(cfg, **kwargs)
            fairseq/trainer.py:260 __init__ | _ = distributed_utils.all_reduce(torch.zeros(1).cuda())
            @torch/distributed/distributed_c10d.py:1206 all_reduce | work = default_pg.allreduce([tensor], opts)
            """,
            "RuntimeError: NCCL error in: /pytorch/torch/lib/c10d/ProcessGroupNCCL.cpp:825, unhandled system error, NCCL version 2.7.8\nncclSystemError: System call (socket, malloc, munmap, etc) failed.",
        ),
    )
    return ComposedLog(
        "unhandled_system_error",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command="fairseq-train data-bin --distributed-world-size 16",
        versions={"torch": "1.8.1", "nccl": "2.7.8"},
        paper_class="nccl",
        why="the communicator could not register memory with the adapter",
    )


def _cublas_not_initialized() -> ComposedLog:
    tape = Tape(1605, "2021-11-24 11:00:26")
    _start(tape, 1)
    tape.say(
        "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:699: indexSelectLargeIndex: block: [117,0,0], thread: [0,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
        "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:699: indexSelectLargeIndex: block: [117,0,0], thread: [1,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
        _trace(
            """
            fairseq_cli/train.py:300 train | log_output = trainer.train_step(samples)
            fairseq/modules/multihead_attention.py:168 forward | return F.multi_head_attention_forward(
            @torch/nn/functional.py:1848 linear | return torch._C._nn.linear(input, weight, bias)
            """,
            "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
        ),
    )
    return ComposedLog(
        "cublas_not_initialized",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command="fairseq-train data-bin",
        versions={"torch": "1.9.1"},
        why="the assertion lines of the lookup stand above the cuBLAS error",
    )


def _spawned_process_got_sigkill() -> ComposedLog:
    tape = Tape(1606, "2021-08-09 00:31:50")
    _start(tape, 8)
    _inner(tape, range(100, 300, 100))
    tape.say(
        _trace(
            """
            fairseq/distributed/utils.py:328 call_main | torch.multiprocessing.spawn(
            @torch/multiprocessing/spawn.py:230 spawn | return start_processes(fn, args, nprocs, join, daemon, start_method='spawn')
            @torch/multiprocessing/spawn.py:136 join | raise ProcessExitedException(
            """,
            "torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with signal SIGKILL",
        ),
        "/opt/anaconda3/envs/fs/lib/python3.7/multiprocessing/semaphore_tracker.py:144: UserWarning: semaphore_tracker: There appear to be 64 leaked semaphores to clean up at shutdown\n  len(cache))",
    )
    return ComposedLog(
        "spawned_process_got_sigkill",
        "killed_unknown",
        1,
        tape.text(),
        _BASIS,
        command="fairseq-train data-bin --num-workers 8",
        versions={"torch": "1.8.0"},
        paper_class="traceback",
    )


def _inconsistent_gradients() -> ComposedLog:
    tape = Tape(1607, "2020-10-13 13:13:13")
    _start(tape, 8)
    _inner(tape, range(100, 700, 100))
    tape.say(
        _trace(
            """
            fairseq/trainer.py:548 train_step | self._check_grad_norms(grad_norm)
            fairseq/trainer.py:1009 _check_grad_norms | raise FloatingPointError(
            """,
            "FloatingPointError: Fatal error: gradients are inconsistent between workers. Try --ddp-backend=legacy_ddp. Or are you mixing up different generation of GPUs in training?\n"
            + "-" * 80
            + "\ngrad_norm across the workers:\nrank   0 = 2.14180183\nrank   1 = 2.14180183\nrank   2 =      nan\nrank   3 = 2.14180183\n\n"
            + "-" * 80,
        )
    )
    return ComposedLog(
        "inconsistent_gradients",
        "nan_loss",
        1,
        tape.text(),
        _BASIS,
        command="fairseq-train data-bin",
        versions={"torch": "1.6.0", "fairseq": "0.10.0"},
        paper_class="nan_loss",
        why="one worker's gradient is NaN",
    )


def _watchdog_of_113() -> ComposedLog:
    tape = Tape(1608, "2023-01-29 04:40:00")
    _start(tape, 4)
    _inner(tape, range(100, 800, 100))
    tape.wait(1802)
    dogs = [watchdog(tape, "1.13", at, seq=0, timeout_ms=1800000) for at in (0, 1, 3)]
    tape.say(mixed(tape, *dogs))
    tape.say(
        summary(
            tape,
            "1.13",
            "train.py",
            [Exit(0, -6, 8101), Exit(1, -6, 8102), Exit(3, -6, 8104)],
            host="v100-3",
            site=_SITE,
            launcher="/opt/anaconda3/envs/fs/bin/torchrun",
            binary="/opt/anaconda3/envs/fs/bin/python",
            killed=[8103],
        )
    )
    return ComposedLog(
        "watchdog_of_113",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command="torchrun --nproc_per_node 4 train.py",
        versions={"torch": "1.13.1"},
        paper_class="nccl",
    )


def _apex_scale_to_zero() -> ComposedLog:
    tape = Tape(1609, "2020-02-22 22:02:20")
    tape.say(
        "Selected optimization level O1:  Insert automatic casts around Pytorch functions and Tensor methods.",
        "Defaults for this optimization level are:\nenabled                : True\nopt_level              : O1\ncast_model_type        : None\npatch_torch_functions  : True\nkeep_batchnorm_fp32    : None\nmaster_weights         : None\nloss_scale             : dynamic",
    )
    tape.say(*(f"iter {at} loss {6.1 - at * 0.01:.3f}" for at in range(0, 120, 10)))
    scale = 65536.0
    while scale > 1e-30:
        tape.say(f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {scale}")
        scale /= 64
    tape.say(
        _trace(
            "train.py:140 <module> | train()\ntrain.py:101 train | scaled_loss.backward()\n@apex/amp/handle.py:127 scale_loss | should_skip = False if delay_overflow_check else loss_scaler.update_scale()",
            "ZeroDivisionError: float division by zero",
        )
    )
    return ComposedLog(
        "apex_scale_to_zero",
        "nan_loss",
        1,
        tape.text(),
        _BASIS,
        command="python train.py --amp O1",
        versions={"torch": "1.4.0"},
        paper_class="nan_loss",
        why="the division by zero is the end of a loss scale that overflow drove to nothing",
    )


def _subprocess_of_launch() -> ComposedLog:
    tape = Tape(1610, "2020-08-17 17:00:19")
    tape.say(
        "*****************************************\nSetting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed. \n*****************************************",
        "train.py: apex not usable (No module named 'syncbn'), falling back to torch's own DDP",
        _trace(
            "train.py:60 <module> | torch.cuda.set_device(args.local_rank)\n@torch/cuda/__init__.py:281 set_device | torch._C._cuda_setDevice(device)",
            "RuntimeError: CUDA error: invalid device ordinal",
        ),
        _trace(
            """
            @torch/distributed/launch.py:261 <module> | main()
            @torch/distributed/launch.py:256 main | raise subprocess.CalledProcessError(returncode=process.returncode,
            """,
            "subprocess.CalledProcessError: Command '['/opt/anaconda3/envs/fs/bin/python', '-u', 'train.py', '--local_rank=3']' returned non-zero exit status 1.",
        ),
        "$ nvidia-smi -L\nGPU 0: Tesla V100-PCIE-32GB (UUID: GPU-9a77)\nGPU 1: Tesla V100-PCIE-32GB (UUID: GPU-03bd)",
    )
    return ComposedLog(
        "subprocess_of_launch",
        "config",
        1,
        tape.text(),
        _BASIS,
        command="python -m torch.distributed.launch --nproc_per_node=4 train.py --no-apex",
        versions={"torch": "1.6.0"},
        paper_class="cuda_runtime",
        why="four processes were asked for on a machine of two working cards: a launcher option",
    )


def _cudnn_not_initialized_busy() -> ComposedLog:
    tape = Tape(1611, "2022-05-16 18:44:09")
    tape.say(
        "\r".join(bar("train", at, 900, 0.3) for at in range(0, 300, 60)),
        chained(
            _trace(
                "train_asr.py:50 <module> | main()\nespnet2/train/trainer.py:560 train_one_epoch | scaler.scale(loss).backward()",
                "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR\nYou can try to repro this exception using the following code snippet. If that doesn't trigger the error, please include your original repro script when reporting this issue.",
            ),
            _trace(
                "train_asr.py:52 <module> | torch.save(state, out)\n@torch/serialization.py:379 save | _save(obj, opened_zipfile, pickle_module, pickle_protocol)",
                cuda_error("1.10", "unspecified launch failure"),
            ),
        ),
    )
    return ComposedLog(
        "cudnn_not_initialized_busy",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS + "; ESPnet",
        command="python train_asr.py",
        versions={"torch": "1.10.0"},
    )


def _unmatched_dictionary() -> ComposedLog:
    tape = Tape(1612, "2022-10-02 12:21:12")
    _start(tape, 2)
    tape.say(
        f"{tape.when()} | INFO | fairseq.trainer | Preparing to load checkpoint checkpoints/base/checkpoint_best.pt",
        _trace(
            """
            fairseq/trainer.py:499 load_checkpoint | self.model.load_state_dict(
            @torch/nn/modules/module.py:1604 load_state_dict | raise RuntimeError('Error(s) in loading state_dict for {}:\\n\\t{}'.format(
            """,
            "RuntimeError: Error(s) in loading state_dict for TransformerModel:\n\tsize mismatch for encoder.embed_tokens.weight: copying a param with shape torch.Size([40480, 1024]) from checkpoint, the shape in current model is torch.Size([32768, 1024]).",
        ),
        _trace(
            "fairseq/trainer.py:510 load_checkpoint | raise Exception(",
            "Exception: Cannot load model parameters from checkpoint checkpoints/base/checkpoint_best.pt; please ensure that the architectures match.",
        ),
    )
    return ComposedLog(
        "unmatched_dictionary",
        "checkpoint",
        1,
        tape.text(),
        _BASIS,
        command="fairseq-train data-bin --restore-file checkpoints/base/checkpoint_best.pt",
        versions={"torch": "1.12.1"},
        paper_class="runtime_error",
    )
