# /// case
# cause = "traceback"
# exit_code = 1
# why = "an exception class of the program's own"
# ///
"""The simulator refuses an action after the end of an episode with an exception of its own."""

import numpy as np


class EpisodeOver(Exception):
    """An action was taken after the end of the episode."""


class Corridor:
    def __init__(self, length):
        self.length, self.position, self.over = length, 0, False

    def reset(self):
        self.position, self.over = 0, False
        return self.position

    def step(self, action):
        if self.over:
            raise EpisodeOver(
                f"step({action}) called at position {self.position}; call reset() first"
            )
        self.position = max(0, self.position + (1 if action else -1))
        self.over = self.position >= self.length
        return self.position, float(self.over), self.over


def run(env, q, episodes, rng):
    for episode in range(episodes):
        state, total = env.reset(), 0.0
        for step in range(60):
            action = int(rng.random() < 0.5) if rng.random() < 0.3 else int(q[state].argmax())
            new, reward, over = env.step(action)
            q[state, action] += 0.5 * (reward + 0.9 * q[new].max() * (not over) - q[state, action])
            state, total = new, total + reward
            if over and episode < 7:
                break
        print(f"episode {episode} return {total} steps {step + 1} crashes 0", flush=True)


run(Corridor(5), np.ones((7, 2)) * 0.01, 20, np.random.default_rng(3))
