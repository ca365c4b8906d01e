# /// case
# cause = "cuda_environment"
# paper_class = ""
# exit_code = 3
# why = "the program's own check: the installed torch was built without CUDA"
# ///
"""The start-up check of the trainer finds that the installed torch cannot use a GPU and gives up."""

import os
import sys

import torch


def environment_report() -> dict[str, object]:
    return {
        "torch": torch.__version__,
        "built for cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "(not set)"),
        "device count": torch.cuda.device_count(),
        "nccl available": torch.distributed.is_nccl_available(),
        "threads": torch.get_num_threads(),
    }


def pick_device(allow_cpu: bool = False) -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    if allow_cpu:
        return torch.device("cpu")
    print("!! torch cannot use a GPU here: this is a CPU-only build.", file=sys.stderr)
    print("!! reinstall torch from the CUDA index, or pass --allow-cpu (slow).", file=sys.stderr)
    sys.exit(3)


for key, value in environment_report().items():
    print(f"{key:>22}: {value}")
sys.stdout.flush()
device = pick_device(allow_cpu="--allow-cpu" in sys.argv)
print("training on", device)
