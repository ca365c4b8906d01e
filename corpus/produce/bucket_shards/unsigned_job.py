# /// case
# cause = "asset"
# paper_class = ""
# exit_code = 1
# environment = "storage"
# env = {AWS_EC2_METADATA_DISABLED = "true", AWS_DEFAULT_REGION = "eu-central-1"}
# why = "the data set by its name in the store cannot be had without credentials; nothing was sent, so not the network"
# ///
"""The job has no credentials for the object store."""

import io
import logging
from concurrent.futures import ThreadPoolExecutor

import boto3
import numpy as np
import torch
from botocore.config import Config

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)-22s %(levelname)s %(message)s")
log = logging.getLogger("imagenet.train")
logging.getLogger("botocore.hooks").setLevel(logging.WARNING)

BUCKET, PREFIX = "vision-datasets", "imagenet-1k/train/"


def read_object(client, key):
    body = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    return torch.from_numpy(np.load(io.BytesIO(body)))


def main():
    client = boto3.client("s3", config=Config(retries={"max_attempts": 4, "mode": "adaptive"}))
    log.info("listing s3://%s/%s", BUCKET, PREFIX)
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=PREFIX)
    keys = [one["Key"] for page in pages for one in page["Contents"]]
    log.info("%d shards", len(keys))
    with ThreadPoolExecutor(4) as pool:
        for shard in pool.map(lambda key: read_object(client, key), keys):
            log.info("shard of %s", tuple(shard.shape))


main()
