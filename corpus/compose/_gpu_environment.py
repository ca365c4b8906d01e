"""Output about an environment: collect_env, package lists, model summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from corpus.compose._gpu_tape import Tape


def collect_env(
    *,
    torch: str,
    cuda: str,
    driver: str,
    cards: Sequence[str],
    python: str = "3.8.18",
    available: bool = True,
    system: str = "Ubuntu 20.04.6 LTS (x86_64)",
) -> str:
    """Return the report of ``python -m torch.utils.collect_env``."""
    return "\n".join(
        (
            "Collecting environment information...",
            f"PyTorch version: {torch}",
            "Is debug build: False",
            f"CUDA used to build PyTorch: {cuda}",
            "ROCM used to build PyTorch: N/A",
            "",
            f"OS: {system}",
            "GCC version: (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0",
            "Clang version: Could not collect",
            "CMake version: version 3.27.7",
            "Libc version: glibc-2.31",
            "",
            f"Python version: {python} (main, Sep 11 2023, 13:40:15)  [GCC 11.2.0] (64-bit runtime)",
            "Python platform: Linux-5.15.0-94-generic-x86_64-with-glibc2.31",
            f"Is CUDA available: {available}",
            "CUDA runtime version: Could not collect",
            "CUDA_MODULE_LOADING set to: LAZY",
            *(f"GPU {at}: {name}" for at, name in enumerate(cards)),
            "",
            f"Nvidia driver version: {driver}",
            "cuDNN version: Could not collect",
            "HIP runtime version: N/A",
            "MIOpen runtime version: N/A",
            "Is XNNPACK available: True",
            "",
            "CPU:",
            "Architecture:                       x86_64",
            "CPU(s):                             32",
            "Model name:                         AMD Ryzen Threadripper 3970X 32-Core Processor",
            "Vulnerability Itlb multihit:        Not affected",
            "Vulnerability Retbleed:             Mitigation; untrained return thunk; SMT enabled with STIBP protection",
            "Vulnerability Spec store bypass:    Mitigation; Speculative Store Bypass disabled via prctl and seccomp",
            "",
            "Versions of relevant libraries:",
            "[pip3] numpy==1.24.4",
            f"[pip3] torch=={torch}",
            "[conda] Could not collect",
        )
    )


def packages(versions: Mapping[str, str]) -> str:
    """Return a table as ``pip list`` prints it."""
    wide = max(len(name) for name in versions)
    rows = [f"{name:<{wide}} {version}" for name, version in versions.items()]
    return "\n".join((f"{'Package':<{wide}} Version", f"{'-' * wide} {'-' * 14}", *rows))


def keras_summary(tape: Tape, name: str, layers: int) -> str:
    """Return the summary of a model as Keras 2 prints it."""
    lines = [
        f'Model: "{name}"',
        "_" * 65,
        " Layer (type)                Output Shape              Param #   ",
        "=" * 65,
    ]
    total, size, width = 0, 224, 32
    for at in range(layers):
        count = tape.rng.randrange(3, 90) * 1024
        total += count
        kind = f" conv2d_{at} (Conv2D)"
        lines += [f"{kind:<28} (None, {size}, {size}, {width})".ljust(55) + str(count), ""]
        size, width = max(size // 2, 7), min(width * 2, 512)
    lines += [
        "=" * 65,
        f"Total params: {total:,}",
        f"Trainable params: {total - 2048:,}",
        "Non-trainable params: 2,048",
        "_" * 65,
    ]
    return "\n".join(lines)
