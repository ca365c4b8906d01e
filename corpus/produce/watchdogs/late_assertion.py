# /// case
# cause = "assertion"
# exit_code = 1
# why = "the trainer's claim about its buffer; the watchdog's notes before it were recovered"
# ///
"""The watchdog only complains of slow steps; the run ends at a claim about the replay buffer."""

import random
import threading
import time

beat = time.monotonic()


def watch():
    while True:
        time.sleep(0.25)
        if (late := time.monotonic() - beat) > 0.4:
            print(f"[watchdog] step is slow ({late:.2f} s), possible hang?", flush=True)


class ReplayBuffer:
    def __init__(self, capacity):
        self.items, self.capacity, self.position = [], capacity, 0

    def push(self, item):
        if len(self.items) < self.capacity:
            self.items.append(item)
        else:
            self.items[self.position] = item
        self.position = (self.position + 1) % (self.capacity + 1)

    def sample(self, count):
        assert 0 <= self.position < self.capacity, f"write head at {self.position}"
        return random.sample(self.items, count)


threading.Thread(target=watch, daemon=True).start()
random.seed(0)
buffer = ReplayBuffer(60)
for episode in range(80):
    beat = time.monotonic()
    buffer.push((episode, random.random()))
    if episode > 10:
        batch = buffer.sample(8)
        print(f"episode {episode} mean reward {sum(r for _, r in batch) / 8:.3f}", flush=True)
    time.sleep(0.7 if episode == 25 else 0.01)
