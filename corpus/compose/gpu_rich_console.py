"""Training wrapped by a console tool: coloured loguru lines, rich boxes, cut starts, swallowed ends."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_hosts import kernel, xid
from corpus.compose._gpu_tape import Tape, bar, traceback
from corpus.compose._gpu_torch import frames, oom, watchdog, watchdog_cuda
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of rich, loguru, Transformers, PyTorch and the Linux kernel"
_WIDTH = 100
_RED, _GREEN, _DIM, _PLAIN = "\x1b[31m\x1b[1m", "\x1b[32m", "\x1b[2m", "\x1b[0m"


def logs() -> Iterator[ComposedLog]:
    """The same failures without the lines one would look for."""
    yield _boxed_out_of_memory()
    yield _boxed_devices()
    yield _boxed_shapes_with_bar_after()
    yield _cut_start_ecc()
    yield _cut_start_watchdog()
    yield _coloured_nan()
    yield _swallowed_by_tee()
    yield _red_but_recovered()
    yield _boxed_corrupt_image()
    yield _driver_insufficient()
    yield _only_the_kernel_speaks()
    yield _script_went_on_after_segfault()


def _say(tape: Tape, level: str, text: str) -> None:
    colour = {"ERROR": _RED, "WARNING": "\x1b[33m\x1b[1m"}.get(level, "\x1b[1m")
    tape.wait(0.4).say(
        f"{_GREEN}{tape.when()}.{tape.rng.randrange(1000):03d}{_PLAIN} | {colour}{level:<8}{_PLAIN} | \x1b[36mlab.train{_PLAIN}:\x1b[36mfit{_PLAIN}:\x1b[36m{tape.rng.randrange(40, 300)}{_PLAIN} - {colour}{text}{_PLAIN}"
    )


def _steps(tape: Tape, first: int, last: int, loss: float = 2.4) -> None:
    for at in range(first, last, 20):
        tape.wait(17)
        _say(
            tape,
            "INFO",
            f"step \x1b[36m{at}\x1b[0m loss=\x1b[36m{tape.near(loss / (1 + at / 800), 0.03):.4f}\x1b[0m lr=\x1b[36m1e-4\x1b[0m mem=61.2GiB",
        )


def _box(error: str, *places: tuple[str, int, str, str]) -> str:
    """rich's traceback: each place is file, line, function and the code there."""
    title = " Traceback (most recent call last) "
    lines = [f"\x1b[31m╭─{_PLAIN}{title.center(_WIDTH - 4, '─')}\x1b[31m─╮{_PLAIN}"]
    for at, (file, line, function, code) in enumerate(places):
        if at:
            lines.append(_row(""))
        lines += [
            _row(f"{file}:{line} in {function}"),
            _row(""),
            _row(f"  {line - 2} │   {_DIM}# ...{_PLAIN}"),
            _row(f"  {line - 1} │   "),
            _row(f"❱ {line} │   │   {code}"),
            _row(f"  {line + 1} │   "),
        ]
    lines.append(f"\x1b[31m╰{'─' * (_WIDTH - 2)}╯{_PLAIN}")
    return "\n".join([*lines, f"{_RED}{error.split(':')[0]}: {_PLAIN}{error.split(': ', 1)[1]}"])


def _row(text: str) -> str:
    shown = len(text.replace(_DIM, "").replace(_PLAIN, ""))
    return f"\x1b[31m│{_PLAIN} {text}{' ' * max(_WIDTH - 4 - shown, 0)} \x1b[31m│{_PLAIN}"


_FIT = ("/srv/lab/train.py", 91, "main", "fit(model, loader, cfg)")


def _boxed_out_of_memory() -> ComposedLog:
    tape = Tape(1901, "2025-02-18 13:00:00")
    _say(
        tape,
        "INFO",
        "config: \x1b[33mon_oom\x1b[0m=raise \x1b[33mon_nan\x1b[0m=raise \x1b[33mmax_errors\x1b[0m=0",
    )
    _steps(tape, 0, 400)
    tape.say(
        _box(
            oom("2.5", "1.96 GiB", total="79.15 GiB", free="1.21 GiB").removeprefix("torch."),
            _FIT,
            ("/srv/lab/train.py", 64, "fit", "loss.backward()"),
            (
                "/opt/env/lib/python3.11/site-packages/torch/_tensor.py",
                581,
                "backward",
                "torch.autograd.backward(",
            ),
        )
    )
    return ComposedLog(
        "boxed_out_of_memory",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="lab run train.py",
        versions={"torch": "2.5.1", "rich": "13.9"},
    )


def _boxed_devices() -> ComposedLog:
    tape = Tape(1902, "2024-06-11 10:10:10")
    _say(tape, "INFO", "resuming optimizer from runs/14/state.pt (map_location=cpu)")
    tape.say(
        _box(
            "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
            _FIT,
            ("/srv/lab/train.py", 70, "fit", "optimizer.step()"),
            (
                "/opt/env/lib/python3.11/site-packages/torch/optim/adamw.py",
                419,
                "_single_tensor_adamw",
                "exp_avg.lerp_(grad, 1 - beta1)",
            ),
        )
    )
    return ComposedLog(
        "boxed_devices",
        "device_mismatch",
        1,
        tape.text(),
        _BASIS,
        command="lab run train.py --resume 14",
        versions={"torch": "2.3.1"},
        why="the checkpoint was read well; its state stayed on the CPU",
    )


def _boxed_shapes_with_bar_after() -> ComposedLog:
    tape = Tape(1903, "2024-07-01 18:18:01")
    _steps(tape, 0, 60)
    tape.say(
        _box(
            "RuntimeError: The size of tensor a (77) must match the size of tensor b (154) at non-singleton dimension 1",
            _FIT,
            ("/srv/lab/model.py", 133, "forward", "x = x + self.positions[: x.shape[0]]"),
        ),
        bar("epoch 0", 61, 4000, 0.85, ", loss=2.31"),
    )
    return ComposedLog(
        "boxed_shapes_with_bar_after",
        "shape_mismatch",
        1,
        tape.text(),
        _BASIS,
        command="lab run train.py",
        versions={"torch": "2.3.1"},
        paper_class="runtime_error",
    )


def _cut_start_ecc() -> ComposedLog:
    tape = Tape(1904, "2024-12-24 23:00:11")
    tape.say(frames(tape, "timeout"))
    tape.say(watchdog_cuda(tape, "2.4", 2, "uncorrectable ECC error encountered"))
    tape.say(
        "[lab] output cut: kept the last 64 KiB",
        "[lab] process group ended: exit status 134, 41233 s",
    )
    return ComposedLog(
        "cut_start_ecc",
        "gpu_hardware",
        134,
        tape.text(),
        _BASIS,
        command="lab run train.py",
        versions={"torch": "2.4.0"},
        paper_class="cuda_runtime",
    )


def _cut_start_watchdog() -> ComposedLog:
    tape = Tape(1905, "2024-12-26 02:20:20")
    tape.say("_allocated=61.2GiB step=80112\n...")
    for at in (3, 1, 0):
        tape.say(watchdog(tape, "2.4", at, seq=80113, numel=(1048576, 1048576), stack=at == 0))
    tape.say(
        "[lab] output cut: kept the last 16 KiB",
        "[lab] process group ended: exit status 134, 90110 s",
    )
    return ComposedLog(
        "cut_start_watchdog",
        "collective",
        134,
        tape.text(),
        _BASIS,
        command="lab run --gpus 4 train.py",
        versions={"torch": "2.4.0"},
    )


def _coloured_nan() -> ComposedLog:
    tape = Tape(1906, "2025-03-08 09:09:09")
    _steps(tape, 0, 200)
    for at in range(200, 400, 20):
        tape.wait(17)
        _say(
            tape,
            "INFO",
            f"step \x1b[36m{at}\x1b[0m loss=\x1b[31mnan\x1b[0m lr=\x1b[36m1e-4\x1b[0m mem=61.2GiB",
        )
    _say(tape, "WARNING", "no finite loss for 200 steps, not saving")
    _say(tape, "INFO", "finished")
    return ComposedLog(
        "coloured_nan",
        "nan_loss",
        0,
        tape.text(),
        _BASIS,
        command="lab run train.py",
        versions={"torch": "2.6.0"},
        why="finished by its own word, with nothing but NaN in its second half",
    )


def _swallowed_by_tee() -> ComposedLog:
    tape = Tape(1907, "2024-09-09 04:04:04")
    tape.say("+ python train.py 2>&1 | tee runs/21/out.txt")
    _steps(tape, 0, 120)
    tape.say(
        traceback(
            """
            train.py:91 <module> | main()
            train.py:66 main | scores = model.head(hidden)
            @torch/nn/modules/linear.py:116 forward | return F.linear(input, self.weight, self.bias)
            """,
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            root="/srv/lab",
        ),
        "+ echo 'run 21 done'\nrun 21 done",
        "+ python -m lab.notify --status ok",
    )
    return ComposedLog(
        "swallowed_by_tee",
        "cuda_oom",
        0,
        tape.text(),
        _BASIS,
        command="bash run.sh",
        versions={"torch": "2.3.0"},
        why="the pipe hid the status; training ended at step 100 for want of the card's memory",
    )


def _red_but_recovered() -> ComposedLog:
    tape = Tape(1908, "2025-04-17 12:00:41")
    _steps(tape, 0, 200)
    _say(tape, "ERROR", "CUDA out of memory in validation (batch 64); halving to 32 and repeating")
    tape.say(
        _box(
            oom("2.6", "5.00 GiB", total="79.15 GiB").removeprefix("torch."),
            ("/srv/lab/train.py", 77, "validate", "logits = model(batch)"),
        )
    )
    _say(tape, "WARNING", "handled: continuing with validation batch 32")
    _say(tape, "ERROR", "tracker unreachable (503), metrics kept in runs/31/offline and sent later")
    _steps(tape, 200, 700)
    _say(tape, "INFO", "tracker reachable again, 240 metrics sent")
    _say(tape, "INFO", "reached 700 of 700 steps, best val 1.402, model written")
    return ComposedLog(
        "red_but_recovered",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="lab run train.py",
        versions={"torch": "2.6.0"},
        why="both errors were handled and training went to its end",
    )


def _boxed_corrupt_image() -> ComposedLog:
    tape = Tape(1909, "2024-05-05 15:35:55")
    _steps(tape, 0, 340)
    tape.say(
        _box(
            "OSError: Caught OSError in DataLoader worker process 2.\nOriginal Traceback (most recent call last):\n"
            '  File "/opt/env/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py", line 52, in <listcomp>\n    data = [self.dataset[idx] for idx in possibly_batched_index]\n'
            '  File "/srv/lab/data.py", line 31, in __getitem__\n    return self.transform(Image.open(path).convert("RGB"))\n'
            "OSError: image file is truncated (12 bytes not processed)",
            _FIT,
            ("/srv/lab/train.py", 58, "fit", "for batch in loader:"),
            (
                "/opt/env/lib/python3.11/site-packages/PIL/ImageFile.py",
                266,
                "load",
                "raise OSError(",
            ),
        )
    )
    return ComposedLog(
        "boxed_corrupt_image",
        "data",
        1,
        tape.text(),
        _BASIS + "; Pillow",
        command="lab run train.py",
        versions={"torch": "2.3.0"},
        paper_class="traceback",
    )


def _driver_insufficient() -> ComposedLog:
    tape = Tape(1910, "2023-11-30 07:00:00")
    _say(tape, "INFO", "requested device cuda:0")
    tape.say(
        _box(
            "RuntimeError: CUDA driver version is insufficient for CUDA runtime version",
            ("/srv/lab/train.py", 40, "setup", "kernels.warm_up(device)"),
            ("/srv/lab/kernels.py", 12, "warm_up", "_ext.init(device.index)"),
        )
    )
    _say(tape, "INFO", "driver 470.57.02 supports up to CUDA 11.4, kernels built with 12.1")
    return ComposedLog(
        "driver_insufficient",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="lab run train.py",
        versions={"torch": "2.1.0"},
        paper_class="cuda_runtime",
    )


def _only_the_kernel_speaks() -> ComposedLog:
    tape = Tape(1911, "2025-01-14 20:20:20")
    _steps(tape, 0, 500)
    tape.say(
        "[lab] process group ended: killed by signal 9",
        "[lab] kernel messages in that time:",
        kernel(
            tape,
            "lab-2",
            xid("0000:21:00", 45, "Ch 00000008", pid=5530),
            "memory: usage 125829120kB, limit 125829120kB, failcnt 88",
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=lab-run-55,mems_allowed=0,oom_memcg=/lab/run-55,task_memcg=/lab/run-55,task=python,pid=5530,uid=1004",
            "Memory cgroup out of memory: Killed process 5530 (python) total-vm:201344000kB, anon-rss:124910000kB, file-rss:301000kB, shmem-rss:0kB, UID:1004 pgtables:260000kB oom_score_adj:0",
        ),
    )
    return ComposedLog(
        "only_the_kernel_speaks",
        "oom_killer",
        -9,
        tape.text(),
        _BASIS,
        command="lab run --mem 120G train.py",
        versions={"torch": "2.5.1"},
        why="Xid 45 is the card's clean-up after the kill",
    )


def _script_went_on_after_segfault() -> ComposedLog:
    tape = Tape(1912, "2024-08-02 02:22:02")
    tape.say("+ python train.py --stage 1")
    _steps(tape, 0, 80)
    tape.say(
        "run.sh: line 9: 71230 Segmentation fault      (core dumped) python train.py --stage 1",
        "+ python export.py --from runs/9/stage1",
        "export: nothing to export, runs/9/stage1 has no weights (skipped)",
        "+ echo finished",
        "finished",
    )
    return ComposedLog(
        "script_went_on_after_segfault",
        "segfault",
        0,
        tape.text(),
        _BASIS,
        command="bash run.sh",
        versions={"torch": "2.4.0"},
        why="the script carried on and returned 0, but nothing was trained",
    )
