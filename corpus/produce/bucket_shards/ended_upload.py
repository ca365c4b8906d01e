# /// case
# cause = "network"
# paper_class = ""
# exit_code = 1
# environment = "storage"
# env = {AWS_ACCESS_KEY_ID = "testing", AWS_SECRET_ACCESS_KEY = "testing"}
# why = "the store stops answering in the middle of the run, and the upload gives up after its retries"
# ///
"""The store stops answering during the training; the upload of a checkpoint reads until its time-out."""

import socket
import sys
import threading

import boto3
import torch
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from tqdm import tqdm


def silent_store():
    """A store whose process hangs: it accepts connections and never answers."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    kept = []

    def accept():
        while True:
            kept.append(listener.accept())

    threading.Thread(target=accept, daemon=True).start()
    return "http://localhost:{}".format(listener.getsockname()[1])


class Uploader:
    def __init__(self, endpoint):
        config = Config(
            read_timeout=2, retries={"max_attempts": 2, "mode": "standard"}, tcp_keepalive=True
        )
        self.client = boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1", config=config
        )
        self.transfer = TransferConfig(use_threads=False)

    def __call__(self, path, key):
        print(f"\nuploading {path} -> s3://weights/{key}", file=sys.stderr)
        self.client.upload_file(path, "weights", key, Config=self.transfer)


def main():
    upload = Uploader(silent_store())
    model = torch.nn.GRU(8, 32, batch_first=True)
    optimizer = torch.optim.RMSprop(model.parameters())
    with tqdm(total=60, desc="gru", ncols=80, mininterval=0.5) as bar:
        for step in range(1, 61):
            x = torch.randn(16, 20, 8)
            loss = (model(x)[0][:, -1, :8] - x.mean(1)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bar.update()
            if step % 40 == 0:
                torch.save({"step": step, "model": model.state_dict()}, "last.pt")
                upload("last.pt", f"gru/{step}.pt")


main()
