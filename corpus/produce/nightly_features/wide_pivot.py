# /// case
# cause = "host_oom"
# exit_code = 1
# command = "bash -c 'set -o pipefail; ulimit -v 4000000; python {program} 2>&1 | tee pivot.log'"
# ///
"""A pivot of users by products needs more memory than there is; pandas passes numpy's error on."""

import numpy as np
import pandas as pd

print("pandas", pd.__version__)
rng = np.random.default_rng(1)
orders = pd.DataFrame(
    {
        "user": rng.integers(0, 60_000, 70_000),
        "product": rng.integers(0, 30_000, 70_000),
        "amount": rng.gamma(2.0, 10.0, 70_000),
    }
)
print(
    "by weekday:",
    orders.assign(day=orders.index % 7).pivot_table("amount", "day").round(2).to_dict(),
)
wide = orders.set_index(["user", "product"])["amount"].groupby(level=[0, 1]).sum().unstack()
print("features", wide.shape)
