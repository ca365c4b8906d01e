# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# timeout_s = 240
# why = "the port of the store is in use; DistNetworkError is a RuntimeError"
# ///
"""Another job on the host holds MASTER_PORT."""

import os
import socket

import lightning as L
from lightning.pytorch.demos.boring_classes import BoringModel

if __name__ == "__main__":
    if os.environ.setdefault("NODE_RANK", "0") == "0":
        neighbour = socket.socket(socket.AF_INET6)
        neighbour.bind(("::", 0))
        neighbour.listen()
        os.environ["MASTER_PORT"] = str(neighbour.getsockname()[1])
    trainer = L.Trainer(
        max_epochs=1, accelerator="cpu", devices=1, num_nodes=2, strategy="ddp", logger=False
    )
    trainer.fit(BoringModel())
