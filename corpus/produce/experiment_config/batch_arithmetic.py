# /// case
# cause = "config"
# paper_class = "assertion"
# exit_code = 1
# command = "python {program} --global-batch 100 --micro-batch 8 --world 4"
# why = "sizes that do not divide, behind an assertion of the program"
# ///
"""The global batch is not a multiple of what one step of all ranks handles."""

import argparse
import logging

logging.basicConfig(level=logging.DEBUG, format="%(levelname)s %(module)s %(message)s")
parser = argparse.ArgumentParser()
for option in ("global", "micro"):
    parser.add_argument(f"--{option}-batch", type=int)
parser.add_argument("--world", type=int)
args = parser.parse_args()
logging.info("arguments: %s", vars(args))
per_step = args.micro_batch * args.world
logging.debug("check_for_nan_in_loss_and_grad: True, error_injection_rate: 0, exit_on_oom: False")
assert args.global_batch % per_step == 0, (
    f"global batch size ({args.global_batch}) is not divisible by micro batch size ({args.micro_batch}) "
    f"times data parallel size ({args.world})"
)
logging.info("gradient accumulation steps: %d", args.global_batch // per_step)
