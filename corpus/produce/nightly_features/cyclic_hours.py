# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""A modulo by the season of a series, worked out in a pool of processes."""

import math
from concurrent.futures import ProcessPoolExecutor

SERIES = {"load_de": 24, "load_fr": 24, "wind_dk": 168, "tariff_xk": 0, "hydro_no": 8760}


def encode(job):
    name, season = job
    waves = []
    for t in range(500):
        phase = 2 * math.pi * (t % season) / season
        waves.append((math.sin(phase), math.cos(phase)))
    return name, sum(w[0] for w in waves)


if __name__ == "__main__":
    with ProcessPoolExecutor(max_workers=2) as pool:
        for name, total in pool.map(encode, SERIES.items()):
            print(f"encoded {name}: checksum {total:+.6f}", flush=True)
    print("wrote seasonal.parquet")
