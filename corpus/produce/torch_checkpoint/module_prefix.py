# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The checkpoint was written by a wrapped model, so that no key is found; strict=False was tried first elsewhere."""

import sys
import traceback

import torch
from torch import nn

model = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 6))
wrapped = nn.DataParallel(model)
torch.save(wrapped.state_dict(), "best.pt")


def warm_start(path):
    ema = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 6))
    report = ema.load_state_dict(torch.load(path), strict=False)
    print(
        f"[warn] EMA: {len(report.missing_keys)} missing, {len(report.unexpected_keys)} unexpected keys ignored"
    )
    model.load_state_dict(torch.load(path))
    return model, ema


def main():
    try:
        warm_start("best.pt")
    except Exception:
        print("fatal: initialisation failed", file=sys.stderr)
        traceback.print_exc()
        return 1
    return 0


sys.exit(main())
