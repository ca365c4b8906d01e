# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""A weighted average over an advertiser whose weights add up to nothing; numpy's own check says so."""

import numpy as np

rng = np.random.default_rng(12)
spend = rng.gamma(0.4, 50.0, size=(9, 40))
spend[6] = 0.0
clicks = rng.random((9, 40))
print("advertiser  days  weighted_ctr")
for advertiser in range(9):
    ctr = np.average(clicks[advertiser], weights=spend[advertiser])
    print(f"{advertiser:10d} {clicks.shape[1]:5d}  {ctr:.4f}", flush=True)
