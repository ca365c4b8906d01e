# /// case
# cause = "none"
# exit_code = 0
# why = "failed tasks are submitted again and all succeed"
# ///
"""Tasks fail and are submitted again until all of them have succeeded."""

import logging
from concurrent.futures import ThreadPoolExecutor

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-8s %(threadName)s %(message)s"
)
attempts = {}


def download(shard):
    attempts[shard] = attempts.get(shard, 0) + 1
    if attempts[shard] <= shard % 3:
        raise TimeoutError(f"reading shard {shard} timed out")
    return shard * 100


def main():
    pending, rows = list(range(9)), 0
    with ThreadPoolExecutor(3, thread_name_prefix="io") as pool:
        while pending:
            futures = {shard: pool.submit(download, shard) for shard in pending}
            pending = []
            for shard, future in futures.items():
                if error := future.exception():
                    logging.error("task %d failed, will be retried", shard, exc_info=error)
                    pending.append(shard)
                else:
                    rows += future.result()
            logging.info("%d tasks left", len(pending))
    logging.info("all 9 shards done, %d rows, 0 tasks lost", rows)


main()
