# /// case
# cause = "network"
# paper_class = ""
# exit_code = 1
# environment = "storage"
# env = {AWS_ACCESS_KEY_ID = "minio", AWS_SECRET_ACCESS_KEY = "minio123", AWS_ENDPOINT_URL_S3 = "http://127.0.0.1:9"}
# why = "the store's endpoint refuses connections, in the error of a loader's worker"
# ///
"""The local object store is down; the workers of the loader find out."""

import io

import boto3
import pyarrow.parquet as pq
import torch
from botocore.config import Config
from loguru import logger
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class ParquetShards(IterableDataset):
    def __init__(self, bucket, count):
        self.bucket, self.count = bucket, count

    def __iter__(self):
        worker = get_worker_info()
        client = boto3.client(
            "s3",
            region_name="us-east-1",
            config=Config(retries={"total_max_attempts": 3}, connect_timeout=3),
        )
        for i in range(worker.id, self.count, worker.num_workers):
            key = f"clicks/day={i:02}/part-0.parquet"
            body = client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
            for row in pq.read_table(io.BytesIO(body)).to_pylist():
                yield torch.tensor(row["features"]), row["label"]


def main():
    loader = DataLoader(ParquetShards("warehouse", 8), batch_size=32, num_workers=2)
    model = torch.nn.Linear(16, 1)
    optimizer = torch.optim.Adagrad(model.parameters())
    logger.info("click model with {} parameters", sum(p.numel() for p in model.parameters()))
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y.float())
        loss.backward()
        optimizer.step()
        logger.info("step {} loss {:.3f}", step, loss.item())


main()
