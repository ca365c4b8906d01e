# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# needs = ["root"]
# why = "the scratch volume of the second node is full; the first node's lost connection follows"
# ///
# The second node's scratch volume is small, and its worker writes activations there.
mkdir scratch0 scratch1
cat > dump.py <<'PY'
import os

import numpy as np
import torch
import torch.distributed as dist
from tqdm import tqdm


class ActivationWriter:
    def __init__(self, folder):
        self.folder = folder

    def __call__(self, module, inputs, output):
        name = f"{self.folder}/act-{len(os.listdir(self.folder)):04}.npy"
        np.save(name, output.detach().numpy())


dist.init_process_group("gloo")
model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.GELU(), torch.nn.Linear(512, 1))
model[1].register_forward_hook(ActivationWriter(f"scratch{os.environ['GROUP_RANK']}"))
for step in tqdm(range(60), desc=f"node {os.environ['GROUP_RANK']}", ncols=70, mininterval=2):
    model(torch.randn(64, 64)).mean().backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad = None
PY
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export ARGS="--nnodes 2 --nproc-per-node 1 --rdzv-id scratch --rdzv-backend c10d --rdzv-endpoint localhost:$PORT"
torchrun $ARGS dump.py 2>&1 | sed -u 's/^/n0 /' &
sleep 3
unshare -m bash -c 'mount -t tmpfs -o size=2m tmpfs scratch1 && torchrun $ARGS dump.py' 2>&1 | sed -u 's/^/n1 /'
code=${PIPESTATUS[0]}
wait
exit $code
