# /// case
# cause = "cancelled"
# paper_class = ""
# exit_code = -10
# stop = {signal = "USR1", when = "step 20"}
# why = "SIGUSR1 with nothing else known"
# ///
"""SIGUSR1 reaches a program that has no handler for it."""

import time

print("PID file written, send SIGUSR1 for a checkpoint", flush=True)
for step in range(4000):
    time.sleep(0.03)
    if step % 5 == 0:
        print(f"step {step} ppl {90 / (1 + step / 30):.2f}", flush=True)
