# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "OSError 28; the errors before it are retried"
# ///
# The disk for checkpoints is full after a few of them.
mkdir -p ckpt
mount -t tmpfs -o size=6m tmpfs ckpt || exit 90
cat > train.py <<'EOF'
import logging
import shutil

import numpy as np
import torch

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s")
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(1, 601):
    x = torch.randn(8, 256)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        logging.info("step %d loss %.4f", step, loss.item())
        arrays = {k: v.numpy() for k, v in model.state_dict().items()}
        with open(f"ckpt/step{step}.npz", "wb") as file:
            np.savez(file, **arrays)
        free = shutil.disk_usage("ckpt").free
        logging.info("saved ckpt/step%d.npz", step)
EOF
python train.py
