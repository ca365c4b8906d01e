"""Lightning's Trainer on local cards and small clusters."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_environment import collect_env
from corpus.compose._gpu_hosts import Card, smi
from corpus.compose._gpu_tape import Tape, bar, chained, marked, mixed, rank, traceback
from corpus.compose._gpu_torch import cuda_error, heartbeat, oom
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of Lightning, PyTorch and NCCL"
_SITE = "/home/user/.venvs/pl/lib/python3.10/site-packages"
_PL = "@pytorch_lightning"


def logs() -> Iterator[ComposedLog]:
    """Two processes on one card, unused parameters, stuck ranks, validation memory, good fits."""
    yield _duplicate_gpu()
    yield _unused_parameters()
    yield _validation_did_not_fit()
    yield _missing_rank_never_joined()
    yield _heartbeat_stuck()
    yield _loader_deadlock_stopped_by_hand()
    yield _accuracy_over_nothing()
    yield _checkpoint_without_keys()
    yield _checked_loss_is_nan()
    yield _no_accelerator_found()
    yield _cudnn_execution_failed()
    yield _stopped_early_and_well()


def _fit(tape: Tape, cards: int, *, model: str = "LitUNet") -> None:
    tape.say(
        "Using 16bit Automatic Mixed Precision (AMP)\nGPU available: True (cuda), used: True\nTPU available: False, using: 0 TPU cores\nHPU available: False, using: 0 HPUs",
        *(
            f"Initializing distributed: GLOBAL_RANK: {at}, MEMBER: {at + 1}/{cards}"
            for at in range(cards if cards > 1 else 0)
        ),
    )
    if cards > 1:
        tape.say(
            "-" * 100
            + f"\ndistributed_backend=nccl\nAll distributed processes registered. Starting with {cards} processes\n"
            + "-" * 100
            + "\n"
        )
    tape.say(
        *(
            f"LOCAL_RANK: {at} - CUDA_VISIBLE_DEVICES: [{','.join(map(str, range(cards)))}]"
            for at in range(cards)
        ),
        f"\n  | Name    | Type             | Params\n---------------------------------------------\n0 | net     | {model:<16} | 31.0 M\n1 | loss_fn | CrossEntropyLoss | 0     \n---------------------------------------------\n31.0 M    Trainable params\n0         Non-trainable params\n31.0 M    Total params\n124.149   Total estimated model params size (MB)",
        "SLURM auto-requeueing enabled. Setting signal handlers." if cards == 4 else "",
    )


def _epoch(tape: Tape, number: int, total: int, loss: float, upto: int | None = None) -> None:
    upto = total if upto is None else upto
    drawn = (
        bar(
            f"Epoch {number}",
            at,
            total,
            0.22,
            f", v_num=7, train_loss_step={tape.near(loss, 0.1):.3f}",
        )
        for at in range(0, upto + 1, max(total // 9, 1))
    )
    tape.say("\r".join(drawn))


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root="/home/user/seg", site=_SITE)


_LOOP = f"""
train.py:74 <module> | trainer.fit(model, datamodule=data)
{_PL}/trainer/trainer.py:544 fit | call._call_and_handle_interrupt(
{_PL}/trainer/call.py:44 _call_and_handle_interrupt | return trainer_fn(*args, **kwargs)
{_PL}/trainer/trainer.py:987 _run | results = self._run_stage()
{_PL}/loops/training_epoch_loop.py:250 advance | batch_output = self.automatic_optimization.run(trainer.optimizers[0], batch_idx, kwargs)
"""


def _duplicate_gpu() -> ComposedLog:
    tape = Tape(901, "2024-01-23 12:20:04")
    tape.say("You have turned on `Trainer(strategy='ddp', devices=2)`; MASTER_PORT=53161")
    _fit(tape, 2)
    error = (
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.19.3\n"
        "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\nDuplicate GPU detected : rank {0} and rank {1} both on CUDA device 3b000"
    )
    told = [
        rank(
            at,
            _trace(
                f"""
                train.py:74 <module> | trainer.fit(model, datamodule=data)
                {_PL}/trainer/trainer.py:957 _run | self.strategy.setup(self)
                {_PL}/strategies/ddp.py:171 setup | self.configure_ddp()
                @torch/nn/parallel/distributed.py:798 __init__ | _verify_param_shape_across_processes(self.process_group, parameters)
                @torch/distributed/utils.py:263 _verify_param_shape_across_processes | return dist._verify_params_across_processes(process_group, tensors, logger)
                """,
                error.format(at, 1 - at),
            ),
        )
        for at in (0, 1)
    ]
    tape.say(mixed(tape, *told))
    return ComposedLog(
        "duplicate_gpu",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command="CUDA_VISIBLE_DEVICES=1,1 python train.py",
        versions={"torch": "2.2.0", "lightning": "2.1.3"},
        paper_class="nccl",
        why="the store formed, the communicator did not: invalid usage of NCCL",
    )


def _unused_parameters() -> ComposedLog:
    tape = Tape(902, "2023-03-30 17:07:33")
    _fit(tape, 2, model="TwoHeads")
    _epoch(tape, 0, 420, 1.9, 46)
    tape.say(
        _trace(
            _LOOP
            + """
train.py:41 training_step | logits = self.net(batch["image"])
CALL 2.0
@torch/nn/parallel/distributed.py:1139 forward | if torch.is_grad_enabled() and self.reducer._rebuild_buckets():
""",
            "RuntimeError: It looks like your LightningModule has parameters that were not used in producing the loss returned by training_step. If this is intentional, you must enable the detection of unused parameters in DDP, either by setting the string value `strategy='ddp_find_unused_parameters_true'` or by setting the flag in the strategy with `strategy=DDPStrategy(find_unused_parameters=True)`.",
        ),
        "[rank: 1] Child process with PID 20177 terminated with code 1. Forcefully terminating all other processes to avoid zombies",
    )
    return ComposedLog(
        "unused_parameters",
        "runtime_error",
        1,
        tape.text(),
        _BASIS,
        command="python train.py --devices 2",
        versions={"torch": "2.0.0", "lightning": "2.0.0"},
    )


def _validation_did_not_fit() -> ComposedLog:
    tape = Tape(903, "2024-09-04 23:34:10")
    tape.say(
        smi(
            tape,
            [
                Card("NVIDIA L40S", f"00000000:{at}:00.0", 5, 46068, 28, 33, 350)
                for at in ("0A", "8B")
            ],
            driver="555.42.06",
            cuda="12.5",
        )
    )
    _fit(tape, 1)
    for at in range(3):
        _epoch(tape, at, 900, 1.4 - at * 0.2)
    tape.say(
        "\r".join(bar("Validation DataLoader 0", at, 120, 0.8) for at in (0, 12, 24)),
        _trace(
            f"""
            train.py:74 <module> | trainer.fit(model, datamodule=data)
            {_PL}/loops/fit_loop.py:363 advance | self.epoch_loop.run(self._data_fetcher)
            {_PL}/loops/evaluation_loop.py:394 _evaluation_step | output = call._call_strategy_hook(trainer, hook_name, *step_args)
            train.py:58 validation_step | logits = sliding_window_inference(batch["image"], (160, 160, 160), 8, self.net, overlap=0.5)
            @monai/inferers/utils.py:223 sliding_window_inference | output_image_list.append(torch.zeros(output_shape, dtype=compute_dtype, device=device))
            """,
            oom(
                "2.4",
                "15.27 GiB",
                total="44.53 GiB",
                free="9.80 GiB",
                used="34.72 GiB",
                allocated="33.90 GiB",
                idle="310.12 MiB",
            ),
        ),
        bar("Epoch 2", 900, 900, 0.22, ", v_num=7, train_loss_step=0.981"),
    )
    return ComposedLog(
        "validation_did_not_fit",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS + "; MONAI",
        command="python train.py",
        versions={"torch": "2.4.0", "lightning": "2.4.0"},
    )


def _missing_rank_never_joined() -> ComposedLog:
    tape = Tape(904, "2024-04-08 06:10:00")
    tape.say(
        "GPU available: True (cuda), used: True",
        "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8",
        "Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/8",
        "Initializing distributed: GLOBAL_RANK: 2, MEMBER: 3/8",
        "Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/8",
    )
    tape.wait(1801).say(
        rank(
            0,
            _trace(
                f"""
                train.py:74 <module> | trainer.fit(model, datamodule=data)
                {_PL}/strategies/ddp.py:150 setup_environment | self.setup_distributed()
                {_PL}/strategies/ddp.py:201 setup_distributed | _init_dist_connection(self.cluster_environment, self._process_group_backend, timeout=self._timeout)
                @torch/distributed/distributed_c10d.py:1361 init_process_group | store, rank, world_size = next(rendezvous_iterator)
                @torch/distributed/rendezvous.py:258 _env_rendezvous_handler | store = _create_c10d_store(master_addr, master_port, rank, world_size, timeout, use_libuv)
                """,
                "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 4/8 clients joined.",
            ),
        ),
        "srun: error: node07: task 0: Exited with exit code 1",
    )
    return ComposedLog(
        "missing_rank_never_joined",
        "rendezvous",
        1,
        tape.text(),
        _BASIS,
        command="srun python train.py --num_nodes 2 --devices 4",
        versions={"torch": "2.3.0", "lightning": "2.2.1"},
        paper_class="traceback",
    )


def _heartbeat_stuck() -> ComposedLog:
    tape = Tape(905, "2024-11-29 15:00:40")
    _fit(tape, 4)
    _epoch(tape, 0, 1800, 2.2)
    _epoch(tape, 1, 1800, 1.9, 700)
    tape.wait(601)
    for at in (0, 1, 3):
        tape.say(heartbeat(tape, "2.4", at))
    tape.say(
        *(
            f"[rank{at}]:[F{tape.at.month}{tape.when('%d %H:%M:%S')}.60311{at}021 ProcessGroupNCCL.cpp:1216] [PG 0 Rank {at}] [PG 0 Rank {at}] ProcessGroupNCCL's watchdog got stuck for 600 seconds without making progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API hang blocking the watchdog, and could be triggered by another thread holding the GIL inside a CUDA api, or other deadlock-prone behaviors."
            for at in (0, 1, 3)
        ),
        "[rank: 1] Child process with PID 4411 terminated with code -6. Forcefully terminating all other processes to avoid zombies",
        "Killed",
    )
    return ComposedLog(
        "heartbeat_stuck",
        "collective",
        137,
        tape.text(),
        _BASIS,
        command="python train.py --devices 4",
        versions={"torch": "2.4.1", "lightning": "2.4.0"},
        paper_class="nccl",
        why="the watchdogs of three ranks stalled within NCCL or CUDA; no other root shows",
    )


def _loader_deadlock_stopped_by_hand() -> ComposedLog:
    tape = Tape(906, "2024-02-02 10:00:00")
    _fit(tape, 1)
    _epoch(tape, 0, 500, 1.3)
    tape.say(
        bar("Epoch 1", 0, 500, 0.2, ", v_num=3, train_loss_step=1.010"),
        "[hang-watch] 11:02 no step for 3600 s; py-spy dump --pid 1188",
        'Process 1188: python train.py --workers 8\nThread 1188 (idle): "MainThread"\n    poll (multiprocessing/popen_fork.py:27)\n    wait (multiprocessing/popen_fork.py:43)\n    join (multiprocessing/process.py:149)\n    _shutdown_workers (torch/utils/data/dataloader.py:1472)\n    __del__ (torch/utils/data/dataloader.py:1478)\nThread 1260 (idle): "QueueFeederThread"\n    wait (threading.py:320)',
        'Process 1301: python train.py --workers 8  [pt_data_worker 3]\nThread 1301 (idle): "MainThread"\n    acquire (cv2/lock)\n    imread (cv2/__init__.py)\n    __getitem__ (data.py:61)',
        "[hang-watch] GPU 0 utilization 0 % for 3600 s; sending SIGKILL to 1188",
        "Killed",
    )
    return ComposedLog(
        "loader_deadlock_stopped_by_hand",
        "idle_hang",
        137,
        tape.text(),
        _BASIS + "; py-spy",
        command="hang-watch python train.py --workers 8",
        versions={"torch": "2.1.2", "lightning": "2.1.3"},
        why="workers and loader wait for one another; the kill only ended it",
    )


def _accuracy_over_nothing() -> ComposedLog:
    tape = Tape(907, "2023-08-16 20:08:20")
    _fit(tape, 1)
    _epoch(tape, 0, 77, 0.9)
    tape.say(
        _trace(
            f"""
            train.py:74 <module> | trainer.fit(model, datamodule=data)
            {_PL}/loops/evaluation_loop.py:300 on_run_end | self._on_evaluation_epoch_end()
            {_PL}/trainer/call.py:157 _call_lightning_module_hook | output = fn(*args, **kwargs)
            train.py:66 on_validation_epoch_end | self.log("val_acc", self.hits / (self.seen - self.skipped))
            """,
            "ZeroDivisionError: division by zero",
        ),
        bar("Epoch 0", 77, 77, 0.22, ", v_num=1, train_loss_step=0.842"),
    )
    return ComposedLog(
        "accuracy_over_nothing",
        "div_zero",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"torch": "2.0.1", "lightning": "2.0.6"},
    )


def _checkpoint_without_keys() -> ComposedLog:
    tape = Tape(908, "2024-05-17 09:22:48")
    tape.say(
        "Restoring states from the checkpoint path at runs/v12/last.ckpt",
        f"{_SITE}/pytorch_lightning/trainer/call.py:273: Be aware that when using `ckpt_path`, callbacks used to create the checkpoint need to be provided during `Trainer` instantiation. Please add the following callbacks: [\"EMA{{'decay': 0.9999}}\"].",
    )
    tape.say(
        _trace(
            f"""
            train.py:80 <module> | trainer.fit(model, datamodule=data, ckpt_path=args.resume)
            {_PL}/trainer/connectors/checkpoint_connector.py:295 restore_model | self.trainer.strategy.load_model_state_dict(
            {_PL}/strategies/strategy.py:371 load_model_state_dict | self.lightning_module.load_state_dict(checkpoint["state_dict"], strict=strict)
            @torch/nn/modules/module.py:2189 load_state_dict | raise RuntimeError('Error(s) in loading state_dict for {{}}:\\n\\t{{}}'.format(
            """,
            'RuntimeError: Error(s) in loading state_dict for LitUNet:\n\tMissing key(s) in state_dict: "net.bottleneck.attn.in_proj_weight", "net.bottleneck.attn.in_proj_bias". \n\tUnexpected key(s) in state_dict: "net.bottleneck.conv.weight". ',
        )
    )
    tape.say(
        collect_env(
            torch="2.3.0+cu121",
            cuda="12.1",
            driver="545.23.08",
            cards=["NVIDIA RTX A6000"],
            python="3.10.14",
        )
    )
    return ComposedLog(
        "checkpoint_without_keys",
        "checkpoint",
        1,
        tape.text(),
        _BASIS,
        command="python train.py --resume runs/v12/last.ckpt",
        versions={"torch": "2.3.0", "lightning": "2.2.4"},
        paper_class="runtime_error",
    )


def _checked_loss_is_nan() -> ComposedLog:
    tape = Tape(909, "2024-10-08 02:02:02")
    _fit(tape, 2)
    for at in range(4):
        _epoch(tape, at, 640, 1.1 - at * 0.1)
    tape.say(
        bar("Epoch 4", 211, 640, 0.22, ", v_num=9, train_loss_step=nan.0"),
        "[rank: 0] Monitored metric train_loss = nan is not finite. Previous best value was 0.713. Signaling Trainer to stop.",
        bar("Epoch 4", 640, 640, 0.22, ", v_num=9, train_loss_step=nan.0, train_loss_epoch=nan.0"),
        "`Trainer.fit` stopped: EarlyStopping with check_finite",
    )
    return ComposedLog(
        "checked_loss_is_nan",
        "nan_loss",
        0,
        tape.text(),
        _BASIS,
        command="python train.py --devices 2",
        versions={"torch": "2.4.0", "lightning": "2.4.0"},
        why="training was stopped because the loss had become NaN",
    )


def _no_accelerator_found() -> ComposedLog:
    tape = Tape(910, "2024-07-02 08:30:30")
    tape.say(
        "Seed set to 42",
        f"{_SITE}/torch/cuda/__init__.py:118: UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu. (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)\n  return torch._C._cuda_getDeviceCount() > 0",
        _trace(
            f"""
            train.py:70 <module> | trainer = pl.Trainer(accelerator="gpu", devices=2, strategy="ddp")
            {_PL}/utilities/argparse.py:70 insert_env_defaults | return fn(self, **kwargs)
            {_PL}/trainer/connectors/accelerator_connector.py:144 __init__ | self._accelerator_flag = self._choose_gpu_accelerator_backend()
            {_PL}/trainer/connectors/accelerator_connector.py:352 _choose_gpu_accelerator_backend | raise MisconfigurationException("No supported gpu backend found!")
            """,
            "lightning_fabric.utilities.exceptions.MisconfigurationException: No supported gpu backend found!",
        ),
    )
    tape.say(
        collect_env(
            torch="2.2.2+cu121",
            cuda="12.1",
            driver="535.86.10",
            cards=["NVIDIA RTX A5000", "NVIDIA RTX A5000"],
            python="3.10.13",
            available=False,
        )
    )
    return ComposedLog(
        "no_accelerator_found",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"torch": "2.2.2", "lightning": "2.2.5"},
        paper_class="traceback",
        why="the driver could not be initialized; the trainer's complaint follows from it",
    )


def _cudnn_execution_failed() -> ComposedLog:
    tape = Tape(911, "2023-01-12 13:13:31")
    _fit(tape, 1)
    _epoch(tape, 0, 333, 2.0, 222)
    tape.say(
        chained(
            _trace(
                _LOOP
                + """
train.py:44 training_step | out, _ = self.rnn(packed)
CALL 1.13
@torch/nn/modules/rnn.py:776 forward | result = _VF.lstm(input, batch_sizes, hx, self._flat_weights, self.bias,
""",
                "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
            ),
            _trace(
                f"train.py:74 <module> | trainer.fit(model, datamodule=data)\n{_PL}/trainer/call.py:63 _call_and_handle_interrupt | trainer._teardown()\n{_PL}/strategies/strategy.py:490 teardown | self.lightning_module.cpu()",
                cuda_error("1.13", "an illegal memory access was encountered"),
            ),
        ),
        "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: an illegal memory access was encountered",
        "Aborted (core dumped)",
    )
    return ComposedLog(
        "cudnn_execution_failed",
        "cuda_runtime",
        134,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"torch": "1.13.1", "lightning": "1.9.0"},
    )


def _stopped_early_and_well() -> ComposedLog:
    tape = Tape(912, "2024-12-28 07:07:07")
    tape.say(
        smi(
            tape,
            [
                Card("NVIDIA A100-PCIE-40GB", f"00000000:{at}:00.0", 4, 40960, 31, 41, 250)
                for at in ("17", "65")
            ],
        ),
        "[W socket.cpp:697] [c10d] The client socket has failed to connect to [localhost]:53161 (errno: 99 - Cannot assign requested address).",
    )
    _fit(tape, 2)
    for at in range(5):
        _epoch(tape, at, 640, 1.2 - at * 0.12)
        tape.say(
            f"Metric val_loss improved by 0.0{5 - at}1 >= min_delta = 0.0. New best score: {0.9 - at * 0.05:.3f}"
            if at < 3
            else ""
        )
    tape.say(
        "Monitored metric val_loss did not improve in the last 2 records. Best score: 0.800. Signaling Trainer to stop.",
        marked(
            "",
            f"{_SITE}/torch/optim/lr_scheduler.py:232: UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`. (the first step was skipped by the grad scaler: inf)",
        ),
        "[rank0]:[W1228 09:11:05.733120991 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group to ensure that any pending NCCL operations have finished in this process. In rare cases this process can exit before this point and block the progress of another member of the process group. (function operator())",
        "Testing DataLoader 0: 100%|██████████| 80/80 [00:11<00:00,  7.10it/s]\n────────────────────────────────────────\n       Test metric             DataLoader 0\n────────────────────────────────────────\n        test_acc            0.9143999814987183\n        test_loss           0.8101342916488647\n────────────────────────────────────────",
    )
    return ComposedLog(
        "stopped_early_and_well",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="python train.py --devices 2",
        versions={"torch": "2.4.1", "lightning": "2.4.0"},
        why="early stopping for want of improvement is a good end",
    )
