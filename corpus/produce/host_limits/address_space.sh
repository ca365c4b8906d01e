# /// case
# cause = "host_oom"
# exit_code = 1
# ///
# The replay buffer is larger than the address space that the queue allows.
ulimit -v 1500000
cat > agent.py <<'EOF'
import argparse

import numpy as np


class ReplayBuffer:
    def __init__(self, capacity, shape):
        self.observations = np.zeros((capacity, *shape), dtype=np.uint8)
        self.rewards = np.zeros(capacity, dtype=np.float32)


parser = argparse.ArgumentParser()
parser.add_argument("--buffer-size", type=int, default=1_000_000)
args = parser.parse_args()
print(f"environment PongNoFrameskip-v4, buffer {args.buffer_size:,}", flush=True)
buffer = ReplayBuffer(args.buffer_size, (4, 84, 84))
print("filling the buffer")
EOF
python agent.py
