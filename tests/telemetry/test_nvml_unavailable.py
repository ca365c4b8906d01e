"""Tests of machines without NVML: each has a reason and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.telemetry.conftest import Player, Watcher
from tests.telemetry.standin import UNKNOWN, Fails, Hangs, gpu

pytestmark = pytest.mark.standin


@pytest.mark.parametrize(
    ("trouble", "why", "remedy"),
    [
        (Fails("nvmlInitWithFlags", 4), "no permission", "/dev/nvidia"),
        (Fails("nvmlInitWithFlags", 9), "not loaded", "modprobe nvidia"),
        (Fails("nvmlInitWithFlags", 13), "too old", "newer driver"),
        (Fails("nvmlInitWithFlags", 17), "operating system", "cgroup"),
        (Fails("nvmlInitWithFlags", 18), "different versions", "reboot"),
        (Fails("nvmlInitWithFlags", UNKNOWN), "Unknown Error", ""),
        (Fails("nvmlDeviceGetCount_v2", UNKNOWN), "Unknown Error", ""),
        (Fails("nvmlDeviceGetHandleByIndex_v2", 4), "no permission", "/dev/nvidia"),
    ],
    ids=lambda value: f"{value.function}-{value.code}" if isinstance(value, Fails) else "",
)
def test_a_driver_that_refuses(play: Player, trouble: Fails, why: str, remedy: str) -> None:
    """The reason of the driver is given in words, with a remedy if one is known."""
    reported_why, reported_remedy = play(gpu(), trouble=(trouble,)).unavailable
    assert why in reported_why
    assert remedy in reported_remedy
    assert bool(remedy) == bool(reported_remedy)


def test_a_machine_whose_gpus_are_hidden(play: Player) -> None:
    """A driver without a visible GPU makes the source unavailable."""
    why, remedy = play().unavailable
    assert why == "no GPU is visible here"
    assert "--gpus" in remedy


@pytest.mark.parametrize("library", [None, b"", b"no library"], ids=["none", "empty", "other"])
def test_a_machine_without_the_library(
    watch: Watcher, tmp_path: Path, library: bytes | None
) -> None:
    """Without the library the source is unavailable."""
    if library is not None:
        (tmp_path / "libnvidia-ml.so.1").write_bytes(library)
    why, remedy = watch("nvml", {"LD_LIBRARY_PATH": str(tmp_path)}).unavailable
    assert why == "there is no NVML (libnvidia-ml.so.1)"
    assert "install the NVIDIA driver" in remedy


def test_a_machine_without_the_binding(play: Player) -> None:
    """Without nvidia-ml-py the source is unavailable, and the remedy is to install it."""
    why, remedy = play(gpu(), before="import sys; sys.modules['pynvml'] = None").unavailable
    assert why == "the Python package nvidia-ml-py is not installed"
    assert remedy == "pip install nvidia-ml-py"


def test_a_driver_that_hangs_while_it_is_opened(play: Player) -> None:
    """A driver that hangs while it is opened makes the source unavailable, with a remedy."""
    short_timeout = (
        "import gpualert_common.telemetry.sources.nvml as source; source._OPEN_TIMEOUT_S = 1.0"
    )
    why, remedy = play(
        gpu(), trouble=(Hangs("nvmlInitWithFlags"),), before=short_timeout
    ).unavailable
    assert why == "NVML did not answer within 1 s"
    assert "hangs" in remedy
