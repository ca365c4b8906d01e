# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "storage"
# env = {AWS_ACCESS_KEY_ID = "testing", AWS_SECRET_ACCESS_KEY = "testing"}
# why = "the newest training state in the bucket is empty: an earlier run died during its upload"
# ///
"""The newest checkpoint in the bucket is an object without content."""

import io
import re
import warnings

import boto3
import torch
from moto.server import ThreadedMotoServer
from torch import nn, optim

warnings.filterwarnings("default")


def connect():
    import logging

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    return server, boto3.resource("s3", endpoint_url=url, region_name="us-east-1")


def earlier_run(bucket, model):
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "epoch": 4}, buffer)
    bucket.put_object(Key="unet/ckpt-0004.pt", Body=buffer.getvalue())
    bucket.put_object(Key="unet/ckpt-0005.pt", Body=b"")


def newest(bucket, prefix):
    found = {
        int(re.search(r"(\d+)\.pt$", one.key)[1]): one
        for one in bucket.objects.filter(Prefix=prefix)
    }
    for epoch, one in sorted(found.items()):
        print(f"  epoch {epoch:4d}  {one.size:8d} bytes  {one.key}")
    return found[max(found)]


def main():
    server, s3 = connect()
    bucket = s3.create_bucket(Bucket="runs")
    model = nn.Conv2d(1, 4, 3, padding=1)
    earlier_run(bucket, model)
    try:
        print("looking for a checkpoint to resume from")
        summary = newest(bucket, "unet/")
        state = torch.load(io.BytesIO(summary.get()["Body"].read()))
        model.load_state_dict(state["model"])
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(state["epoch"] + 1, 10):
            optimizer.zero_grad()
            loss = model(torch.randn(2, 1, 8, 8)).square().mean()
            loss.backward()
            optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.4f}")
    finally:
        server.stop()


main()
