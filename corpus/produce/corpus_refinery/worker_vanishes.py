# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "a worker of the executor left; its broken pool names no signal and no reason"
# ///
"""One process of the executor ends with os._exit inside a C-like library call."""

import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed


def tokenize(shard):
    time.sleep(0.05)
    if shard == 17:
        os._exit(3)
    return shard, 4096 + 13 * shard


if __name__ == "__main__":
    total = 0
    with ProcessPoolExecutor(max_workers=2) as pool:
        futures = {pool.submit(tokenize, shard): shard for shard in range(40)}
        for future in as_completed(futures):
            shard, tokens = future.result()
            total += tokens
            print(f"shard {shard:03d}: {tokens} tokens, total {total}", flush=True)
    print("all shards tokenized")
