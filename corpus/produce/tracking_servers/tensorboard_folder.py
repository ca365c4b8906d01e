# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override --inh-caps=-dac_override python {program}"
# needs = ["root"]
# ///
"""The event writer of TensorBoard may not write into the folder of the shared runs."""

import os

from torch.utils.tensorboard import SummaryWriter

os.makedirs("runs")
os.chmod("runs", 0o555)
losses = [2.0 / (1 + step) for step in range(30)]
for step, loss in enumerate(losses):
    if step % 10 == 0:
        print(f"step {step}: loss={loss:.3f}", flush=True)
writer = SummaryWriter("runs/exp1")
for step, loss in enumerate(losses):
    writer.add_scalar("loss", loss, step)
writer.close()
