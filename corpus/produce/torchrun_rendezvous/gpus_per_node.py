# /// case
# cause = "cuda_environment"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node gpu {program}"
# why = "one process per GPU is asked for, and torch sees none"
# ///
"""torchrun shall start a process per GPU, but there is no CUDA."""

import torch

print(torch.cuda.device_count())
