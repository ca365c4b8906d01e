# /// case
# cause = "idle_hang"
# paper_class = ""
# exit_code = 1
# timeout_s = 60
# why = "the run waits for a lock that another process keeps; its watchdog dumps the stacks and ends it"
# ///
"""The table of results stays locked by a notebook, and the run waits for it until its watchdog fires."""

import faulthandler
import json
import logging
import subprocess
import sys
import time

import torch
from filelock import FileLock

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s [%(name)s] %(message)s")
logging.getLogger("filelock").setLevel(logging.DEBUG)
log = logging.getLogger("trial")
NOTEBOOK = "import time, filelock\nwith filelock.FileLock('results.lock'):\n    print('open', flush=True)\n    time.sleep(50)"
notebook = subprocess.Popen([sys.executable, "-c", NOTEBOOK], stdout=subprocess.PIPE, text=True)
notebook.stdout.readline()

torch.set_num_threads(1)
torch.manual_seed(0)
faulthandler.dump_traceback_later(8, exit=True)
weight = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.Adam([weight], lr=0.05)
target = torch.tensor([0.4, -1.0, 2.0])
for trial in range(3):
    for step in range(50):
        loss = (weight - target).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    log.info("trial %d finished with loss %.4f", trial, loss.item())
    time.sleep(0.2)
log.info("writing results.json")
with FileLock("results.lock").acquire(poll_interval=1.5):
    with open("results.json", "w") as out:
        json.dump({"loss": loss.item()}, out)
log.info("done")
