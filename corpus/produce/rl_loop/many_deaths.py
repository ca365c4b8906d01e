# /// case
# cause = "none"
# exit_code = 0
# why = "deaths, crashes and time-outs are events of the game"
# ///
"""Agents die, crash and time out all the time, as the game has it; the training ends well."""

import random

import numpy as np

random.seed(2)
rng = np.random.default_rng(2)
q = np.zeros(4)
events = [
    "killed by monster",
    "crashed into wall",
    "timed out after 200 steps",
    "out of memory cells",
    "reached goal",
]
best = float("-inf")
for episode in range(1, 121):
    action = int(rng.integers(4)) if rng.random() < 0.2 else int(q.argmax())
    reward = rng.normal(action, 1)
    q[action] += 0.1 * (reward - q[action])
    if episode % 10 == 0:
        best = max(best, reward)
        print(
            f"episode {episode:4d} | agent {random.choice(events)} | reward {reward:7.2f} | best {best:.2f} | "
            f"deaths {episode // 3} | crash rate {0.3 - episode / 500:.2f} | aborted 0 | kill/death ratio 1.{episode % 9}"
        )
print(f"evaluation over 20 episodes: mean return {q.max():.2f}, 3 agents killed, 0 errors")
print("saved policy to policy.npy")
np.save("policy.npy", q)
