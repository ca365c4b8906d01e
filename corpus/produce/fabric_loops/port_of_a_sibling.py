# /// case
# cause = "rendezvous"
# exit_code = 1
# environment = "hf4"
# env = {MASTER_ADDR = "127.0.0.1", MASTER_PORT = "29417"}
# ///
"""The port of the group belongs to another program of the same user."""

import socket

import lightning_fabric as L
import torch

torch.set_num_threads(1)
other = socket.socket()
other.bind(("0.0.0.0", 29417))
other.listen()
fabric = L.Fabric(accelerator="cpu", devices=1, strategy="ddp")
print("starting the group of", fabric.world_size, flush=True)
fabric.launch()
model = fabric.setup(torch.nn.Linear(3, 3))
fabric.print(model)
