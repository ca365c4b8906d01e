# /// case
# cause = "missing_module"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0", RAY_DEDUP_LOGS = "1"}
# why = "the module lies next to the driver only by sys.path, and no runtime_env carries it to the workers"
# ///
"""A task's argument refers to a module that the workers cannot import."""

import sys
from pathlib import Path

import ray

SOURCES = Path("src")


def write_package():
    package = SOURCES / "tokenlab"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "filters.py").write_text(
        "class LengthFilter:\n    def __init__(self, least):\n        self.least = least\n\n"
        "    def __call__(self, text):\n        return len(text) >= self.least\n"
    )
    sys.path.insert(0, str(SOURCES.absolute()))


@ray.remote(max_retries=1)
def count(texts, keep):
    return sum(map(keep, texts))


def main():
    write_package()
    from tokenlab.filters import LengthFilter

    ray.init(num_cpus=2, include_dashboard=False)
    texts = [["a" * n for n in range(start, start + 10)] for start in range(0, 50, 10)]
    print("local check:", sum(map(LengthFilter(5), texts[0])))
    futures = [count.remote(chunk, LengthFilter(5)) for chunk in texts]
    done = 0
    while futures:
        ready, futures = ray.wait(futures)
        done += ray.get(ready[0])
        print(f"{len(futures)} chunks left, {done} kept")


main()
