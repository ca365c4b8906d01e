# /// case
# cause = "file_not_found"
# exit_code = 1
# environment = "storage"
# env = {AWS_ACCESS_KEY_ID = "testing", AWS_SECRET_ACCESS_KEY = "testing"}
# why = "a path of the job inside the team's own bucket names nothing; a file of its data, not a published asset by name"
# ///
"""The manifest of the run is not at the path in the bucket that the settings name."""

import argparse
import json
import logging

import boto3
import fsspec
from moto.server import ThreadedMotoServer

log = logging.getLogger(__name__)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--manifest", default="s3://speech-eu/2026-10/manifests/train.jsonl")
    parser.add_argument("--min-seconds", type=float, default=0.5)
    return parser.parse_args()


def read_manifest(path, options):
    with fsspec.open(path, "rt", client_kwargs=options) as file:
        return [json.loads(line) for line in file]


def main():
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    logging.getLogger("aiobotocore").setLevel(logging.WARNING)
    args = parse()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    options = {"endpoint_url": "http://{}:{}".format(*server.get_host_and_port())}
    client = boto3.client("s3", region_name="us-east-1", **options)
    client.create_bucket(Bucket="speech-eu")
    line = json.dumps({"audio": "a/0001.flac", "seconds": 2.5})
    client.put_object(Bucket="speech-eu", Key="2026-10/manifest/train.jsonl", Body=line.encode())
    log.info("arguments %s", vars(args))
    try:
        rows = read_manifest(args.manifest, options)
        rows = [one for one in rows if one["seconds"] >= args.min_seconds]
        log.info("%d utterances", len(rows))
    finally:
        server.stop()
        log.info("stopped the gateway")


main()
