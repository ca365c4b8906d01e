# /// case
# cause = "none"
# exit_code = 0
# why = "tasks that fail are tried again by the scheduler, and all models are fitted"
# ///
"""Tasks fail when a volume answers with an error, and the scheduler tries them again."""

import logging
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster, as_completed
from sklearn.linear_model import LogisticRegression

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def fit(seed, strength):
    mark = Path(f"seen-{seed}-{strength}")
    if seed % 2 and not mark.exists():
        mark.touch()
        raise OSError(116, "Stale file handle", f"/mnt/nfs/folds/{seed}.npy")
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 6))
    y = (x[:, 0] + rng.normal(size=300) > 0).astype(int)
    return (
        seed,
        strength,
        LogisticRegression(C=strength).fit(x[:200], y[:200]).score(x[200:], y[200:]),
    )


def main():
    log = logging.getLogger("search")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        futures = [client.submit(fit, seed, c, retries=2) for seed in range(4) for c in (0.1, 1.0)]
        best = (0.0, None)
        for future in as_completed(futures):
            seed, strength, score = future.result()
            log.info("fold %d C=%s accuracy %.3f", seed, strength, score)
            best = max(best, (score, strength))
        log.info("best accuracy %.3f with C=%s, 0 folds failed", *best)


if __name__ == "__main__":
    main()
