# /// case
# cause = "config"
# exit_code = 1
# ///
"""The limit of memory in the job's YAML has a unit that is not known."""

import argparse
import logging

import yaml
from dask.distributed import Client, LocalCluster

JOB = """
name: gbm-features
cluster:
  n_workers: 2
  threads_per_worker: 1
  memory_limit: 4 gigs
  dashboard_address: null
rounds: 25
"""


def start(job):
    logging.info("starting %s", job["name"])
    cluster = LocalCluster(**job["cluster"])
    return cluster, Client(cluster)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log-level", default="INFO")
    logging.basicConfig(level=parser.parse_args().log_level, format="%(levelname)s:%(message)s")
    job = yaml.safe_load(JOB)
    cluster, client = start(job)
    for i in range(job["rounds"]):
        logging.info("round %d: %d", i, client.submit(sum, range(i)).result())


if __name__ == "__main__":
    main()
