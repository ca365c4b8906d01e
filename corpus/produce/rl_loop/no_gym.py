# /// case
# cause = "missing_module"
# exit_code = 1
# ///
"""The package of environments is not installed; both of its names are tried."""

import argparse

import numpy as np

try:
    import gymnasium as gym
except ModuleNotFoundError:
    import gym


class DiscretePolicy:
    def __init__(self, env, seed):
        self.rng = np.random.default_rng(seed)
        self.n = env.action_space.n

    def act(self, observation):
        return int(self.rng.integers(self.n))


parser = argparse.ArgumentParser()
parser.add_argument("--env", default="CartPole-v1")
args = parser.parse_args()
env = gym.make(args.env)
policy = DiscretePolicy(env, seed=0)
observation, _ = env.reset(seed=0)
print(policy.act(observation))
