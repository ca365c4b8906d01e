# /// case
# cause = "traceback"
# exit_code = 1
# command = "deepspeed --num_gpus 1 --master_port 29711 {program} --deepspeed_config ds.json"
# env = {DS_ACCELERATOR = "cpu"}
# why = "the launcher only adds which subprocess it killed"
# ///
"""The program reads an option that its parser does not make; the launcher kills the group."""

import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser.add_argument("--deepspeed_config")
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()
print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}: {vars(args)}", flush=True)
for epoch in range(args.epochs):
    print(f"epoch {epoch} warmup {args.warmup_ratio}")
