# /// case
# cause = "file_not_found"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# ///
"""The folder of the features has another date than the job expects."""

import datetime
import logging
from pathlib import Path

import pandas as pd
import ray
import ray.data
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer

log = logging.getLogger("features")


def write(day):
    folder = Path(f"features/date={day}").absolute()
    folder.mkdir(parents=True)
    frame = pd.DataFrame({"x": range(100), "y": [i % 3 for i in range(100)]})
    frame.to_parquet(folder / "part-0.parquet")


def loop(config):
    shard = ray.train.get_dataset_shard("train")
    for epoch in range(config["epochs"]):
        ray.train.report(
            {
                "rows": sum(len(one["x"]) for one in shard.iter_batches(batch_size=16)),
                "epoch": epoch,
            }
        )


def main():
    logging.basicConfig(level=logging.INFO)
    write(datetime.date(2026, 11, 20))
    ray.init(num_cpus=3, include_dashboard=False)
    path = str(Path("features/date=2026-11-21").absolute())
    log.info("reading %s", Path(path).name)
    train = ray.data.read_parquet(path)
    trainer = TorchTrainer(
        loop,
        train_loop_config={"epochs": 2},
        datasets={"train": train},
        scaling_config=ScalingConfig(num_workers=1),
    )
    print(trainer.fit())


main()
