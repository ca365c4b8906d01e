# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "storage"
# env = {AWS_ACCESS_KEY_ID = "testing", AWS_SECRET_ACCESS_KEY = "testing"}
# why = "a tar of the training data lies cut off in the store: the whole object was read, so not the network"
# ///
"""One of the tar shards in the store was cut off when it was uploaded."""

import io
import json
import logging
import sys
import tarfile

import boto3
import fsspec
import torch
from moto.server import ThreadedMotoServer

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")
logging.getLogger("werkzeug").setLevel(logging.ERROR)
logging.getLogger("botocore").setLevel(logging.WARNING)


def make_tar(first, count):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for i in range(first, first + count):
            for suffix, body in (
                ("json", json.dumps({"label": i % 4, "x": [i % 7] * 40}).encode()),
            ):
                info = tarfile.TarInfo(f"{i:06}.{suffix}")
                info.size = len(body)
                tar.addfile(info, io.BytesIO(body))
    return buffer.getvalue()


def fill(client):
    client.create_bucket(Bucket="audio-tags")
    for shard in range(4):
        body = make_tar(shard * 50, 50)
        client.put_object(
            Bucket="audio-tags",
            Key=f"train-{shard:04}.tar",
            Body=body[:30_333] if shard == 2 else body,
        )


def samples(fs, urls):
    for url in urls:
        logging.info("opening %s", url)
        with (
            fs.open(url, "rb", block_size=1 << 16) as stream,
            tarfile.open(fileobj=stream, mode="r|") as tar,
        ):
            for member in tar:
                yield json.load(tar.extractfile(member))


def batched(records, size):
    batch = []
    for one in records:
        batch.append(one)
        if len(batch) == size:
            yield batch
            batch = []


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    fill(boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1"))
    fs = fsspec.filesystem("s3", client_kwargs={"endpoint_url": endpoint})
    data = batched(samples(fs, sorted(fs.glob("audio-tags/train-*.tar"))), 10)
    model = torch.nn.Linear(40, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, records in enumerate(data):
        x = torch.tensor([one["x"] for one in records], dtype=torch.float)
        y = torch.tensor([one["label"] for one in records])
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            logging.info("step %d loss %.4f", step, loss.item())
    server.stop()


main()
