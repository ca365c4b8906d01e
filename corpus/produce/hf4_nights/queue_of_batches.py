# /// case
# cause = "idle_hang"
# exit_code = 1
# environment = "hf4"
# why = "the producer is alive and waits for a queue that nobody empties; a watchdog of the program ends it"
# ///
"""The tokenizing process waits for room in its queue, the trainer waits for the process: a deadlock."""

import multiprocessing
import os
import sys
import threading
import time

import torch

beat = {"when": time.monotonic(), "step": 0}


def produce(queue, n):
    for i in range(n):
        queue.put(torch.randint(0, 100, (64, 512)).numpy().tobytes())


def guard(process):
    while time.monotonic() - beat["when"] < 5:
        time.sleep(0.5)
    print(
        f"[guard] no progress since step {beat['step']} for 5 s; main thread waits in join(), "
        f"producer alive={process.is_alive()}, giving up",
        file=sys.stderr,
        flush=True,
    )
    process.kill()
    os._exit(1)


if __name__ == "__main__":
    queue = multiprocessing.Queue(4)
    process = multiprocessing.Process(target=produce, args=(queue, 20), daemon=True)
    process.start()
    threading.Thread(target=guard, args=(process,), daemon=True).start()
    w = torch.zeros(512, requires_grad=True)
    for step in range(8):
        ids = torch.frombuffer(bytearray(queue.get()), dtype=torch.int64).view(64, 512)
        loss = (ids.float() / 100 @ w - 1).pow(2).mean()
        loss.backward()
        beat.update(when=time.monotonic(), step=step)
        print(f"step {step} loss {loss.item():.4f}", flush=True)
    print("waiting for the tokenizing process to finish", flush=True)
    process.join()
