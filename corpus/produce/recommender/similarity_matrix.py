# /// case
# cause = "host_oom"
# exit_code = 1
# command = "bash -c 'ulimit -v 6000000; python {program}'"
# why = "torch words the failed allocation on the host as a RuntimeError"
# ///
"""The full matrix of similarities between the items is asked for in one go."""

import torch

torch.set_num_threads(1)
torch.manual_seed(0)
items = torch.nn.functional.normalize(torch.randn(60_000, 16), dim=1)
print("items", tuple(items.shape))
for name, rows in (("validation", 500), ("test", 2_000), ("catalogue", 60_000)):
    similar = items[:rows] @ items.T
    top = similar.topk(11, dim=1).indices[:, 1:]
    print(f"{name}: neighbours of {rows} items, first {top[0, :3].tolist()}", flush=True)
