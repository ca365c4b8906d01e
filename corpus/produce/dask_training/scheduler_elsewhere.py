# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# why = "the scheduler's address does not answer; there is no process group of ranks, it is a service of the cluster"
# ///
"""The address in the settings belongs to a scheduler that is not running."""

import json
import sys
from pathlib import Path

from dask.distributed import Client
from loguru import logger

Path("cluster.json").write_text(json.dumps({"address": "tcp://127.0.0.1:7", "workers": 16}))


def connect(path, timeout_s):
    settings = json.loads(Path(path).read_text())
    logger.info("connecting to {address} ({workers} workers expected)", **settings)
    return Client(settings["address"], timeout=timeout_s)


def main():
    logger.remove()
    logger.add(sys.stdout, format="{time:HH:mm:ss} {level} {message}")
    client = connect("cluster.json", 6)
    logger.info("dashboard {}", client.dashboard_link)
    print(client.gather(client.map(lambda x: x**2, range(10))))


main()
