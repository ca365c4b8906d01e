# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# environment = "storage"
# command = "unshare -m bash {program}"
# env = {AWS_ACCESS_KEY_ID = "testing", AWS_SECRET_ACCESS_KEY = "testing"}
# needs = ["root"]
# ///
# Shards of the store are kept in a local cache that is too small for all of them.
mkdir -p cache && mount -t tmpfs -o size=3m tmpfs cache
cat > stream.py <<'PY'
import logging
import os

import boto3
import fsspec
import torch
from moto.server import ThreadedMotoServer

logging.basicConfig(level=logging.INFO, format="%(asctime)s: %(process)1.1s: %(levelname)s: %(message)s")
logging.getLogger("werkzeug").setLevel(logging.ERROR)
logging.getLogger("botocore").setLevel(logging.ERROR)
logger = logging.getLogger("stream")


def fill(endpoint, shards):
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.create_bucket(Bucket="tokens")
    for i in range(shards):
        body = torch.randint(0, 50_000, (160_000,)).numpy().tobytes()
        client.put_object(Bucket="tokens", Key=f"mds/shard.{i:05}.bin", Body=body)


class CachedShards:
    def __init__(self, endpoint, cache):
        self.fs = fsspec.filesystem(
            "filecache", target_protocol="s3", cache_storage=cache,
            target_options={"client_kwargs": {"endpoint_url": endpoint}},
        )

    def __iter__(self):
        for path in sorted(self.fs.ls("tokens/mds", detail=False)):
            logger.info("fetching %s", path)
            with self.fs.open(path, "rb") as file:
                yield torch.frombuffer(bytearray(file.read()), dtype=torch.int64)


server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
endpoint = "http://{}:{}".format(*server.get_host_and_port())
fill(endpoint, 5)
embedding = torch.nn.Embedding(50_000, 4)
for number, tokens in enumerate(CachedShards(endpoint, "cache")):
    loss = embedding(tokens[:4096]).square().mean()
    loss.backward()
    logger.info("shard %d loss %.4f, cache %d files", number, loss.item(), len(os.listdir("cache")))
server.stop()
PY
python stream.py
