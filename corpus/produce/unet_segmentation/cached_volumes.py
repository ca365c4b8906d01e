# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "the volume that the table of cases names is not on the disk; the wrapper only says that caching failed"
# ///
"""Volumes are read into a cache by threads; one that the table names is absent, and the error is wrapped."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from tqdm import tqdm

ROOT = Path("nnunet_raw/Task07_Pancreas")


class CacheError(RuntimeError):
    pass


def prepare():
    (ROOT / "imagesTr").mkdir(parents=True)
    (ROOT / "labelsTr").mkdir()
    rng = np.random.default_rng(1)
    cases = [f"pancreas_{i:03d}" for i in (1, 4, 5, 6, 10, 12, 15, 16, 18, 19)]
    for case in cases:
        np.save(ROOT / "imagesTr" / f"{case}.npy", rng.random((8, 24, 24), dtype=np.float32))
        if case != "pancreas_016":
            np.save(ROOT / "labelsTr" / f"{case}.npy", rng.integers(0, 3, (8, 24, 24)))
    (ROOT / "dataset.json").write_text(json.dumps({"training": cases, "numTest": 0}))


def load(case):
    image = np.load(ROOT / "imagesTr" / f"{case}.npy")
    label = np.load(ROOT / "labelsTr" / f"{case}.npy")
    return (image - image.mean()) / image.std(), label


class CacheDataset:
    def __init__(self, cases, workers=3):
        with ThreadPoolExecutor(workers) as pool:
            futures = {case: pool.submit(load, case) for case in cases}
            self.items = []
            for case, future in tqdm(futures.items(), desc="Loading dataset", ncols=70):
                try:
                    self.items.append(future.result())
                except Exception as error:
                    raise CacheError(f"applying transform Load to {case!r} failed") from error


prepare()
listing = json.loads((ROOT / "dataset.json").read_text())
print(f"{ROOT.name}: {len(listing['training'])} training cases, {listing['numTest']} test cases")
print("WARNING: shared memory cache not available, using process memory")
dataset = CacheDataset(listing["training"])
print(f"cached {len(dataset.items)} volumes")
