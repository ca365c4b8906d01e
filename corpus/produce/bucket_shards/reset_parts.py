# /// case
# cause = "none"
# exit_code = 0
# environment = "storage"
# env = {AWS_ACCESS_KEY_ID = "testing", AWS_SECRET_ACCESS_KEY = "testing"}
# why = "the uploads that the gateway broke off are repeated and succeed; the training ends"
# ///
"""A gateway in front of the store breaks every third upload off; the trainer repeats it."""

import io
import logging
import socket
import threading
import time

import boto3
import torch
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from moto.server import ThreadedMotoServer
from torch import nn

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s [%(threadName)s] %(message)s"
)
for name in ("werkzeug", "botocore"):
    logging.getLogger(name).setLevel(logging.ERROR)
log = logging.getLogger("train")


class Gateway(threading.Thread):
    def __init__(self, target):
        super().__init__(daemon=True, name="gateway")
        self.target, self.count = target, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:{}".format(self.listener.getsockname()[1])

    def run(self):
        while True:
            inner, _ = self.listener.accept()
            self.count += 1
            if self.count % 3 == 2:
                inner.recv(64)
                inner.close()
                continue
            outer = socket.create_connection(self.target)
            for a, b in ((inner, outer), (outer, inner)):
                threading.Thread(target=self.copy, args=(a, b), daemon=True).start()

    @staticmethod
    def copy(a, b):
        try:
            while part := a.recv(65536):
                b.sendall(part)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def upload(url, key, state):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    for attempt in range(1, 6):
        client = boto3.client(
            "s3",
            endpoint_url=url,
            region_name="us-east-1",
            config=Config(retries={"total_max_attempts": 1}),
        )
        try:
            client.put_object(Bucket="ckpt", Key=key, Body=buffer.getvalue())
            return log.info("uploaded s3://ckpt/%s (%d bytes)", key, buffer.tell())
        except (BotoCoreError, ClientError):
            log.exception("upload of %s failed, attempt %d", key, attempt)
            time.sleep(0.1 * attempt)
    raise RuntimeError(f"could not upload {key}")


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    gateway = Gateway(server.get_host_and_port())
    gateway.start()
    boto3.client("s3", endpoint_url=gateway.url, region_name="us-east-1").create_bucket(
        Bucket="ckpt"
    )
    model = nn.Linear(40, 40)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(4):
        for _ in range(30):
            x = torch.randn(32, 40)
            loss = (model(x) + x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        log.info("epoch %d loss %.5f", epoch, loss.item())
        upload(gateway.url, f"run7/epoch{epoch}.pt", model.state_dict())
    log.info("finished, best epoch 3")
    server.stop()


main()
