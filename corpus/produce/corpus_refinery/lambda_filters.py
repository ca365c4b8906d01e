# /// case
# cause = "pickling"
# exit_code = 1
# paper_class = "traceback"
# ///
"""A filter that is a lambda cannot be sent to the processes of the pool."""

import logging
import multiprocessing as mp

logging.basicConfig(format="%(asctime)s [%(processName)s] %(message)s", level=logging.INFO)


class Pipeline:
    def __init__(self, workers):
        self.workers = workers
        self.steps = {
            "length": lambda text: len(text) > 20,
            "letters": lambda text: sum(c.isalpha() for c in text) > 0.6 * len(text),
        }

    def keep(self, text):
        return all(step(text) for step in self.steps.values())

    def run(self, texts):
        logging.info(
            "%d documents, steps %s, %d processes", len(texts), list(self.steps), self.workers
        )
        with mp.get_context("spawn").Pool(self.workers) as pool:
            kept = pool.map(self.keep, texts, chunksize=50)
        logging.info("kept %d", sum(kept))


if __name__ == "__main__":
    Pipeline(2).run([f"document {i} " + "word " * (i % 9) for i in range(300)])
