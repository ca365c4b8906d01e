# mypy: ignore-errors
"""A loop of one's own, which prints as people print."""

import argparse
import json
import logging
import math
import os
import sys
import time

import torch
from tqdm import tqdm

parser = argparse.ArgumentParser()
parser.add_argument("style")
parser.add_argument("--output", default="out.pt")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--steps", type=int, default=100, help="of an epoch")
parser.add_argument("--rate", type=float, default=0.05)
parser.add_argument("--every", type=int, default=10)
parser.add_argument("--stop-at", type=int, help="end as if the machine went down in this epoch")
parser.add_argument("--resume", action="store_true")
parser.add_argument("--trials", type=int, default=1, help="as many trainings, one after another")
options = parser.parse_args()

torch.set_num_threads(1)
rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
if ranks > 1:
    torch.distributed.init_process_group("gloo")
log = logging.getLogger("train")
if options.style == "logging":
    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        level=logging.INFO,
        stream=sys.stdout,
    )


EPOCHS, STEPS = options.epochs, options.steps
LINES = {
    "step": "step {step} loss {loss:.4f}",
    "keyed": "step: {step}/{total} | loss_box: {part:.4f} | loss_cls: {half:.4f} "
    "| loss: {loss:.4f} | lr: {rate:.2e} | grad_norm: {grad:.3f} | {speed:.1f} it/s",
    "tutorial": "[epoch {next}, batch {batch:5d}] loss: {loss:.3f}",
    "nano": "iter {step}: loss {loss:.4f}, time {ms:.2f}ms, mfu -100.00%",
    "mnist": "Train Epoch: {next} [{samples}/{all_samples} ({share:.0f}%)]\tLoss: {loss:.6f}",
    "imagenet": "Epoch: [{epoch}][{batch:4d}/{batches}]\tTime  {took:.3f} ( {took:.3f})\t"
    "Data  0.000 ( 0.000)\tLoss {loss:.4e} ({loss:.4e})\tAcc@1   6.25 (  3.12)",
    "two-lines": "Step {step}/{total}\n  loss = {loss:.4f}",
    "colour": "\033[36mstep\033[0m \033[1m{step}\033[0m  \033[32mloss\033[0m {loss:.4f}",
    "ranks": "[rank{rank}]: step {step} loss {loss:.4f}",
    "ranks-bare": "step {step} loss {loss:.4f}",
}
"""Lines that people print for a step."""


def print_step(epoch, index, loss, took, grad):
    """Print one or two lines in the requested style."""
    step, rate = epoch * STEPS + index + 1, options.rate
    if (index + 1) % options.every:
        return
    if options.style == "nano" and step % (5 * options.every) == 0:
        print(f"step {step}: train loss {loss:.4f}, val loss {loss * 1.1:.4f}")
    if options.style in LINES:
        values = {
            "step": step, "total": STEPS * EPOCHS, "loss": loss, "part": loss / 3, "half": loss / 2,
            "rate": rate, "grad": grad, "speed": 1 / took, "next": epoch + 1, "epoch": epoch,
            "batch": index + 1, "batches": STEPS, "ms": took * 1000, "took": took, "rank": rank,
            "samples": index * 8, "all_samples": STEPS * 8, "share": 100 * index / STEPS,
        }  # fmt: skip
        print(LINES[options.style].format(**values))
    elif options.style == "logging":
        log.info("epoch=%d step=%d loss=%.5f lr=%g", epoch, step, loss, rate)
    elif options.style == "json":
        print(json.dumps({"epoch": epoch, "step": step, "train_loss": loss, "lr": rate}))
    elif options.style == "dict":
        print({"step": step, "loss": round(loss, 4), "lr": rate})


def train(seed):
    """One training from its start, or from the checkpoint."""
    torch.manual_seed(seed)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.rate)
    first = 0
    if options.resume and os.path.exists(options.output):
        state = torch.load(options.output)
        model.load_state_dict(state["model"])
        first = state["epoch"]
        print(f"=> loaded checkpoint '{options.output}' (epoch {first})")
    elif options.resume:
        print(f"=> no checkpoint found at '{options.output}'")
    for epoch in range(first, options.epochs):
        if epoch == options.stop_at:
            os._exit(1)
        total = 0.0
        batches = range(options.steps)
        if options.style == "tqdm":
            batches = tqdm(batches, desc=f"Epoch {epoch + 1}/{options.epochs}", mininterval=0)
        for index in batches:
            started = time.perf_counter()
            inputs = torch.randn(8, 8) + 0.1 * rank
            target = inputs.sum(1, keepdim=True) + 0.3 * torch.randn(8, 1)
            loss = (model(inputs) - target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            if ranks > 1:
                for parameter in model.parameters():
                    torch.distributed.all_reduce(parameter.grad)
                    parameter.grad /= ranks
            grad = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e12).item()
            optimizer.step()
            value = loss.item()
            total += value
            if options.style == "tqdm":
                batches.set_postfix(loss=f"{value:.4f}", lr=options.rate)
            print_step(epoch, index, value, time.perf_counter() - started, grad)
        mean = total / options.steps
        if options.style == "epoch":
            print(f"Epoch {epoch + 1}/{EPOCHS} | train loss: {mean:.4f} | val loss: {mean:.4f}")
        if math.isfinite(mean):
            torch.save({"model": model.state_dict(), "epoch": epoch + 1}, options.output)


for trial in range(options.trials):
    if options.trials > 1:
        print(f"Trial {trial}: lr={options.rate}")
    train(trial)
