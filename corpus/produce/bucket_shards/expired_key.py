# /// case
# cause = "asset"
# paper_class = ""
# exit_code = 1
# environment = "storage"
# env = {AWS_ACCESS_KEY_ID = "AKIAIOSFODNN7EXAMPLE", AWS_SECRET_ACCESS_KEY = "wJalrXUtnFEMI", INITIAL_NO_AUTH_ACTION_COUNT = "2"}
# why = "the store refuses the key (403) for a model by name; s3fs raises PermissionError for it, but no mode of a file is concerned"
# ///
"""The weights of the base model are read with a key that the store does not know any more."""

import logging
import os

import boto3
import s3fs
import torch
from moto.server import ThreadedMotoServer
from torch import nn

logging.getLogger("werkzeug").setLevel(logging.ERROR)


def start_store():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.create_bucket(Bucket="models")
    client.put_object(Bucket="models", Key="bert-small/weights.pt", Body=b"PK")
    return server, endpoint


def load_base(fs, name):
    print(f"loading base weights s3://models/{name}/weights.pt", flush=True)
    with fs.open(f"models/{name}/weights.pt", "rb") as file:
        return torch.load(file, weights_only=True)


def main():
    server, endpoint = start_store()
    try:
        fs = s3fs.S3FileSystem(endpoint_url=endpoint)
        model = nn.TransformerEncoderLayer(64, 4, batch_first=True)
        model.load_state_dict(load_base(fs, os.environ.get("BASE", "bert-small")))
        for step in range(5):
            print("step", step, model(torch.randn(2, 8, 64)).mean().item())
    finally:
        server.stop()


main()
