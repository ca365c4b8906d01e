# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The task holds a lock, which cannot be pickled for the executor."""

import logging
import threading
from concurrent.futures import ProcessPoolExecutor

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s [%(process)d] %(levelname)s %(message)s"
)


class FeatureStore:
    def __init__(self, name):
        self.name = name
        self.lock = threading.Lock()
        self.values = {}

    def compute(self, key):
        with self.lock:
            self.values[key] = sum(ord(c) for c in key)
        return self.values[key]


def main():
    store = FeatureStore("train")
    with ProcessPoolExecutor(2) as pool:
        futures = {key: pool.submit(store.compute, key) for key in ("age", "city", "spend")}
        for key, future in futures.items():
            logging.info("feature %s = %s", key, future.result())


if __name__ == "__main__":
    main()
