# /// case
# cause = "config"
# paper_class = ""
# exit_code = 2
# command = "python {program} --data corpus.bin --learning-rate 3e-4 --fp16"
# why = "argparse refuses an option; no exception is seen"
# ///
"""An option of another script is not known to this one."""

import argparse

parser = argparse.ArgumentParser(description="pretrain a small language model")
parser.add_argument("--data", required=True)
parser.add_argument("--lr", type=float, default=3e-4)
parser.add_argument("--bf16", action="store_true")
parser.add_argument("--grad-accum", type=int, default=1)
parser.add_argument("--max-steps", type=int, default=10000)
parser.add_argument("--detect-nan", action="store_true", help="abort when the loss becomes nan")
args = parser.parse_args()
print(f"training on {args.data} with lr {args.lr}")
