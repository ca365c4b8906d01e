# /// case
# cause = "div_zero"
# exit_code = 1
# why = "np.errstate(all='raise') makes numpy say that it divided by zero"
# ///
"""The job lets numpy raise at every division by zero, and a sensor has no variance."""

import sys

import numpy as np

np.seterr(divide="raise", invalid="raise")
rng = np.random.default_rng(7)


def zscore(x):
    return (x - x.mean() + 1.0) / x.std()


sensors = {f"s{i:02d}": rng.normal(i, 1 + i / 5, 400) for i in range(12)}
sensors["s09"] = np.full(400, 21.5)
failed = 0
for name, values in sensors.items():
    try:
        z = zscore(values)
    except FloatingPointError as error:
        failed += 1
        print(f"ERROR {name}: FloatingPointError: {error}", file=sys.stderr)
        continue
    print(f"{name} z range [{z.min():.2f}, {z.max():.2f}]")
if failed:
    sys.exit("standardize: not all sensors could be standardized, giving up")
