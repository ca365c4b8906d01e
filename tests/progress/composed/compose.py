"""Compose logs of frameworks that do not install here: ``python compose.py``.

Their lines follow the code and the documentation that the module of each format names; the numbers
are made up.  Each framework has a healthy training, one that was resumed, one that should have been
and silently began anew, one whose loss became NaN, and one that ended after two steps.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
TOTAL = 400
INTERVAL = 10
RESUMED_AT = 200
NAN_FROM = 150
VARIANTS = ("healthy", "resumed", "scratch", "nan", "undertrained")


class Step(NamedTuple):
    """Values of a step that is logged."""

    step: int
    loss: float
    norm: float
    rate: float
    clock: str


def steps(variant: str, every: int = INTERVAL) -> Iterator[Step]:
    """The steps that a training of this kind logs."""
    first = RESUMED_AT + every if variant == "resumed" else every
    last, apart = (2, 1) if variant == "undertrained" else (TOTAL, every)
    for step in range(1 if variant == "undertrained" else first, last + 1, apart):
        wobble = math.sin(step * 12.9898) * 0.05
        loss = 2.2 + 8.5 * math.exp(-step / 60) + wobble
        norm = 1.1 + wobble
        if variant == "nan" and step >= NAN_FROM:
            loss = norm = math.nan
        rate = 3e-4 * min(1.0, step / 40)
        clock = f"{9 + step // 360:02d}:{step // 6 % 60:02d}:{step % 6 * 10:02d}"
        yield Step(step, loss, norm, rate, clock)


def megatron(variant: str) -> Iterator[str]:
    """Megatron-LM, as its last rank prints."""
    place = "/data/runs/gpt/checkpoints"
    yield "using world size: 8, data-parallel size: 2, tensor-model-parallel size: 4"
    yield "  check_for_nan_in_loss_and_grad .................. True"
    yield "  log_interval .................................... 10"
    yield "  train_iters ..................................... 400"
    yield " > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 88624128"
    if variant == "resumed":
        yield f" loading checkpoint from {place} at iteration {RESUMED_AT}"
        yield (
            f"  successfully loaded checkpoint from {place} [ t 1/4, p 1/1 ] at iteration "
            f"{RESUMED_AT}"
        )
    if variant == "scratch":
        yield f"WARNING: could not find the metadata file {place}/latest_checkpointed_iteration.txt"
        yield "    will not load any checkpoints and will start from random"
    yield "(min, max) time across ranks (ms):"
    yield "training ..."
    yield "[before the start of training step] datetime: 2026-02-03 09:00:00.120133 "
    for at in steps(variant):
        gone = math.isnan(at.loss)
        loss = "" if gone else f" lm loss: {at.loss:.6E} |"
        norm = "nan" if gone else f"{at.norm:.3f}"
        yield (
            f" [2026-02-03 {at.clock}] iteration {at.step:8d}/{TOTAL:8d} | consumed samples: "
            f"{at.step * 512:12d} | elapsed time per iteration (ms): {980 + at.step % 7}.4 | "
            f"throughput per GPU (TFLOP/s/GPU): 312.4 | learning rate: {at.rate:.6E} | global "
            f"batch size:   512 |{loss} loss scale: 1.0 | grad norm: {norm} | number of skipped "
            f"iterations: {INTERVAL if gone else 0:3d} | number of nan iterations: "
            f"{INTERVAL if gone else 0:3d} |"
        )
        if at.step % 100 == 0:
            yield f"saving checkpoint at iteration {at.step:7d} to {place} in torch_dist format"
            yield (
                f"  successfully saved checkpoint from iteration {at.step:7d} to {place} "
                "[ t 1/4, p 1/1 ]"
            )
            yield "-" * 60
            yield (
                f" validation loss at iteration {at.step} | lm loss value: {at.loss + 0.1:.6E} | "
                f"lm loss PPL: {math.exp(at.loss):.6E} | "
            )
            yield "-" * 60
    yield "[after training is done] datetime: 2026-02-03 12:07:00.000412 "


def nemo(variant: str) -> Iterator[str]:
    """NeMo 2.x."""
    place = "/results/gpt/checkpoints"
    head = "[NeMo I 2026-02-03 09:00:00 nemo_logging:393]"
    yield "GPU available: True (cuda), used: True"
    yield f"{head} Experiments will be logged at /results/gpt"
    if variant == "resumed":
        yield f"{head} Resuming from {place}/model_name=0--val_loss=2.91-step=199-last"
        yield "Restored all states from the checkpoint at " + place
    if variant in ("healthy", "scratch", "nan", "undertrained"):
        yield (
            "[NeMo W 2026-02-03 09:00:01 nemo_logging:405] There were no checkpoints found in "
            f"checkpoint_dir or no checkpoint folder at checkpoint_dir :{place}. Training from "
            "scratch."
        )
    for at in steps(variant):
        step = at.step - 1
        evaluation = f" | val_loss: {at.loss + 0.1:.4g}" if at.step > 100 else ""
        yield (
            f"Training epoch 0, iteration {step}/{TOTAL - 1} | lr: {at.rate:.4g} | "
            f"global_batch_size: 128 | global_step: {step} | reduced_train_loss: {at.loss:.4g} | "
            f"train_step_timing in s: 12.64 | consumed_samples: {at.step * 128}{evaluation}"
        )
        if at.step % 100 == 0:
            yield (
                f"[NeMo I 2026-02-03 {at.clock} model_checkpoint:522] Async checkpoint save for "
                f"step {at.step} ({place}/step={step}-last) finalized successfully."
            )


def nemo1(variant: str) -> Iterator[str]:
    """NeMo 1.x, with Lightning's bar."""
    yield "GPU available: True (cuda), used: True"
    if variant == "resumed":
        yield "[NeMo I 2024-02-03 09:00:00 exp_manager:629] Resuming from /results/a-last.ckpt"
        yield "Restored all states from the checkpoint at /results/a-last.ckpt"
    elif variant == "scratch":
        yield (
            "[NeMo W 2024-02-03 09:00:00 exp_manager:601] There were no checkpoints found in "
            "checkpoint_dir or no checkpoint folder at checkpoint_dir :/results/checkpoints. "
            "Training from scratch."
        )
    bars = []
    for at in steps(variant):
        share = 100 * at.step // TOTAL
        bars.append(
            f"Epoch 0: :  {share:2d}%|{'#' * (share // 10):10s}| {at.step}/{TOTAL} "
            f"[{at.step // 60:02d}:{at.step % 60:02d}<06:40, v_num=4-11, "
            f"reduced_train_loss={at.loss:.3g}, global_step={at.step - 1:.1f}, "
            f"consumed_samples={at.step * 256:.1f}, train_step_timing in s=1.020]"
        )
    yield "\r".join(bars)


def torchtitan(variant: str) -> Iterator[str]:
    """torchtitan, in its colours."""

    def line(text: str, clock: str = "09:00:00") -> str:
        return f"[rank0]:[titan] 2026-02-03 {clock},318 - root - INFO - {text}"

    yield line("Building llama3 debugmodel with TransformerModelArgs(n_layers=6, vocab_size=2048)")
    folder = "./outputs/checkpoint"
    yield line(f"Checkpointing active. Checkpoints will be loaded from and saved to {folder}")
    if variant == "resumed":
        yield line(f"Loading the checkpoint from {folder}/step-{RESUMED_AT}.")
        yield line("Finished loading the checkpoint in 1.73 seconds.")
        yield line(f"Training starts at step {RESUMED_AT + 1}")
    else:
        if variant == "scratch":
            yield line("No checkpoint was provided, this is a fresh start.")
        yield line("Training starts at step 1")
    for at in steps(variant):
        yield line(
            f"\x1b[31mstep: {at.step:2d}  \x1b[32mloss: {at.loss:8.5f}  \x1b[38;2;180;60;0m"
            f"grad_norm: {at.norm:7.4f}  \x1b[36mmemory:  2.47GiB(3.12%)  \x1b[34mtps: "
            f"{170_000 + at.step:,}  \x1b[36mtflops: 96.17  \x1b[35mmfu: 9.72%\x1b[39m",
            at.clock,
        )
        if at.step % 100 == 0:
            yield line("Saving the checkpoint (or staging if async is enabled).", at.clock)
            yield line("Finished saving the checkpoint in 0.60 seconds.", at.clock)
            yield line(
                f"\x1b[33mvalidate step: {at.step:2d}  \x1b[32mloss: {at.loss + 0.1:7.4f}  "
                "\x1b[36mmemory:  2.47GiB(3.12%)  \x1b[34mtps: 310,112\x1b[39m",
                at.clock,
            )
    yield line("Training completed", "12:07:00")


def _trainer(variant: str, extra: str = "") -> Iterator[str]:
    """Yield the lines of the Trainer of Transformers 4.5x, which other frameworks build on."""
    epochs = 2.0
    bar = f"\r  0%|          | 0/{TOTAL} [00:00<?, ?it/s]"
    for at in steps(variant):
        share = 100 * at.step // TOTAL
        drawn = (
            f"\r{share:3d}%|{'#' * (share // 10):10s}| {at.step}/{TOTAL} "
            f"[{at.step // 60:02d}:{at.step % 60:02d}<06:40,  1.02s/it]"
        )
        epoch = round(epochs * at.step / TOTAL, 2)
        yield (
            f"{bar}{drawn}\r{' ' * 60}\r{{'loss': {at.loss:.4f}, 'grad_norm': {at.norm:.6f}, "
            f"'learning_rate': {at.rate:.6g}, 'epoch': {epoch}{extra}}}"
        )
        bar = drawn
    if variant != "undertrained":
        yield (
            f"{bar}\r{{'train_runtime': 408.1, 'train_samples_per_second': 7.8, "
            f"'train_steps_per_second': 0.98, 'train_loss': 3.1, 'epoch': {epochs}}}"
        )


def axolotl(variant: str) -> Iterator[str]:
    """Axolotl."""

    def line(place: str, text: str) -> str:
        return f"[2026-02-03 09:00:00,120] [INFO] [{place}] [PID:4711] [RANK:0] {text}"

    yield line("axolotl.utils.data.sft.load_tokenized_prepared_datasets:181", "Loading dataset")
    if variant == "resumed":
        yield line(
            "axolotl.train.train:160",
            "Using Auto-resume functionality to start with checkpoint at "
            f"out/checkpoint-{RESUMED_AT}",
        )
    yield line("axolotl.train.train:212", "Starting trainer...")
    yield from _trainer(variant)
    yield line("axolotl.train.train:231", "Training Completed!!! Saving pre-trained model to ./out")


def llama_factory(variant: str) -> Iterator[str]:
    """LLaMA-Factory at a shell."""

    def line(place: str, text: str) -> str:
        return f"[INFO|2026-02-03 09:00:00] llamafactory.{place} >> {text}"

    yield line("hparams.parser:143", "Process rank: 0, world size: 1, device: cuda:0")
    if variant == "resumed":
        yield line(
            "hparams.parser:143", f"Resuming training from saves/sft/checkpoint-{RESUMED_AT}."
        )
        yield line(
            "hparams.parser:143", "Change `output_dir` or use `overwrite_output_dir` to avoid."
        )
    yield line("model.loader:143", "trainable params: 4,399,104 || all params: 498,431,872")
    yield from _trainer(variant, ", 'num_input_tokens_seen': 65536")


def llama_factory_log(variant: str) -> Iterator[str]:
    """LLaMA-Factory's trainer_log.jsonl."""
    for at in steps(variant):
        yield json.dumps(
            {
                "current_steps": at.step,
                "total_steps": TOTAL,
                "loss": at.loss,
                "lr": at.rate,
                "epoch": round(2 * at.step / TOTAL, 2),
                "percentage": round(100 * at.step / TOTAL, 2),
                "elapsed_time": "0:01:00",
                "remaining_time": "0:05:00",
                "throughput": 1234.5,
                "total_tokens": at.step * 4096,
            }
        )


def unsloth(variant: str) -> Iterator[str]:
    """Unsloth."""
    yield "==((====))==  Unsloth 2026.1.3: Fast Llama patching. Transformers: 4.57.6."
    yield "   \\\\   /|    NVIDIA A100-SXM4-40GB. Num GPUs = 1. Max memory: 39.394 GB."
    yield "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1"
    yield f"   \\\\   /|    Num examples = 1,600 | Num Epochs = 2 | Total steps = {TOTAL}"
    yield "O^O/ \\_/ \\    Batch size per device = 8 | Gradient accumulation steps = 1"
    yield "\\        /    Data Parallel GPUs = 1 | Total batch size (8 x 1 x 1) = 8"
    yield ' "-____-"     Trainable parameters = 11,272,192 of 1,247,086,592 (0.90% trained)'
    if variant == "resumed":
        yield "There were missing keys in the checkpoint model loaded: ['lm_head.weight']."
    yield from _trainer(variant)


def tf_estimator(variant: str) -> Iterator[str]:
    """An estimator of TensorFlow 1.15."""
    place = "/models/wide"
    yield f"INFO:tensorflow:Using config: {{'_model_dir': '{place}', '_save_summary_steps': 100}}"
    yield "INFO:tensorflow:Create CheckpointSaverHook."
    if variant == "resumed":
        yield f"INFO:tensorflow:Restoring parameters from {place}/model.ckpt-{RESUMED_AT}"
    else:
        yield f"INFO:tensorflow:Saving checkpoints for 0 into {place}/model.ckpt."
    previous = None
    for at in steps(variant):
        if math.isnan(at.loss):
            yield "ERROR:tensorflow:Model diverged with loss = NaN."
            break
        took = "" if previous is None else f" ({(at.step - previous) * 0.081:.3f} sec)"
        if previous is not None:
            yield "INFO:tensorflow:global_step/sec: 12.3456"
        yield f"INFO:tensorflow:loss = {at.loss:.6g}, step = {at.step}{took}"
        previous = at.step
        if at.step % 100 == 0:
            yield f"INFO:tensorflow:Saving checkpoints for {at.step} into {place}/model.ckpt."
            yield (
                f"INFO:tensorflow:Saving dict for global step {at.step}: accuracy = 0.71, "
                f"global_step = {at.step}, loss = {at.loss + 0.1:.6g}"
            )
    else:
        yield f"INFO:tensorflow:Loss for final step: {at.loss:.6g}."


def orbit(variant: str) -> Iterator[str]:
    """The loop of TensorFlow's Model Garden, which prints its output below the step."""
    place = "/data/runs/resnet"
    yield "I1120 09:00:00.000000 140 controller.py:53] restoring or initializing model..."
    if variant == "resumed":
        yield f"I1120 09:00:01.000000 140 controller.py:53] restored model from {place}/ckpt-200."
    else:
        yield "I1120 09:00:01.000000 140 controller.py:53] initialized model."
    first = RESUMED_AT if variant == "resumed" else 0
    until = 2 if variant == "undertrained" else TOTAL
    yield (
        "I1120 09:00:02.000000 140 controller.py:53] "
        f"train | step: {first: 6d} | training until step {until}..."
    )
    for step in steps(variant):
        head = f"I1120 {step.clock}.000000 140 controller.py:53] "
        yield f"{head}train | step: {step.step: 6d} | steps/sec: {10.2: 6.1f} | output: "
        yield f"    {{'accuracy': {0.5 - step.loss / 30:.5f},"
        yield f"     'learning_rate': {step.rate:.6f},"
        yield f"     'regularization_loss': {step.loss / 9:.5f},"
        yield f"     'training_loss': {step.loss:.5f}}}"
        if step.step % 100 == 0:
            yield f"{head}saved checkpoint to {place}/ckpt-{step.step}."
            yield f"{head}eval | step: {step.step: 6d} | running complete evaluation..."
            yield (
                f"{head}eval | step: {step.step: 6d} | eval time: {3.1: 6.1f} sec | output: "
                f"{{'validation_loss': {step.loss + 0.1:.5f}}}"
            )


def deepspeed_scaling(variant: str) -> Iterator[str]:
    """DeepSpeed with a pipeline and dynamic loss scaling."""

    def line(place: str, text: str) -> str:
        return f"[2026-02-03 09:00:00,120] [INFO] [{place}] {text}"

    yield line(
        "logging.py:96:log_dist", "[Rank -1] DeepSpeed info: version=0.14.0, git-hash=unknown"
    )
    if variant == "resumed":
        yield line(
            "torch_checkpoint_engine.py:29:load",
            "[Torch] Loaded checkpoint from "
            f"ckpt/global_step{RESUMED_AT}/mp_rank_00_model_states.pt.",
        )
    if variant == "scratch":
        yield (
            "[2026-02-03 09:00:00,120] [WARNING] [engine.py:2749:load_checkpoint] Unable to find "
            "latest file at ckpt/latest, if trying to load latest checkpoint please ensure this "
            "file exists or pass an explicit checkpoint tag when loading a checkpoint."
        )
    skipped, scale = 0, 65536
    for at in steps(variant):
        if at.step <= 2 * INTERVAL or math.isnan(at.loss):
            skipped += 1
            yield line(
                "loss_scaler.py:183:update_scale",
                f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale}, "
                f"reducing to {max(1, scale // 2)}",
            )
            scale = max(1, scale // 2)
        rates = f"[{at.rate:.6g}, {at.rate:.6g}]"
        yield line(
            "logging.py:96:log_dist",
            f"[Rank 0] step={at.step}, skipped={skipped}, lr={rates}, mom=[(0.9, 0.95)]",
        )
        yield f"steps: {at.step} loss: {at.loss:.4f} iter time (s): 0.512 samples/sec: 62.482"
        if at.step % 100 == 0:
            yield line(
                "torch_checkpoint_engine.py:23:save",
                f"[Torch] Saved ckpt/global_step{at.step}/mp_rank_00_model_states.pt.",
            )
    if variant == "nan":
        yield (
            "Exception: Current loss scale already at minimum - cannot decrease scale anymore. "
            "Exiting run."
        )


def keras2(variant: str) -> Iterator[str]:
    """Keras 2 in a file, with its bar."""
    batches, epochs = 50, 8
    first = 5 if variant == "resumed" else 1
    last = 1 if variant == "undertrained" else epochs
    for epoch in range(first, last + 1):
        yield f"Epoch {epoch}/{epochs}"
        bars = []
        for batch in (1, 25, 50):
            step = (epoch - 1) * batches + batch
            loss = math.nan if variant == "nan" and epoch > 3 else 2.2 + 3 * math.exp(-step / 60)
            arrow = "=" * (30 * batch // batches - 1) + (">" if batch < batches else "=")
            left = "ETA: 3s" if batch < batches else "4s 80ms/step"
            bars.append(
                f"{batch:2d}/{batches} [{arrow:.<30s}] - {left} - loss: {loss:.4f} - acc: 0.41"
            )
        yield (
            "\b\b".join(f"\r{bar}" for bar in bars)
            + f" - val_loss: {loss + 0.1:.4f} - val_acc: 0.4"
        )
        if epoch == last and variant == "healthy":
            yield f"Epoch {epoch}: early stopping"


MAKERS: dict[str, Callable[[str], Iterator[str]]] = {
    "axolotl": axolotl,
    "deepspeed-scaling": deepspeed_scaling,
    "keras2": keras2,
    "llama-factory": llama_factory,
    "llama-factory-log": llama_factory_log,
    "megatron": megatron,
    "nemo": nemo,
    "nemo1": nemo1,
    "orbit": orbit,
    "tf-estimator": tf_estimator,
    "torchtitan": torchtitan,
    "unsloth": unsloth,
}


def compose() -> dict[str, bytes]:
    """Every log, by its path here."""
    return {
        f"{name}-{variant}/output.log": "".join(f"{line}\n" for line in make(variant)).encode()
        for name, make in MAKERS.items()
        for variant in VARIANTS
    }


def main() -> None:
    """Write them all."""
    for path, content in compose().items():
        (HERE / path).parent.mkdir(exist_ok=True)
        (HERE / path).write_bytes(content)


if __name__ == "__main__":
    main()
