# /// case
# cause = "time_limit"
# paper_class = "traceback"
# exit_code = 1
# why = "the program's own limit of wall-clock time"
# ///
"""The program's own limit of wall-clock time ends the training."""

import argparse
import time


class Budget:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        self.seconds = seconds

    def check(self, done, total):
        if time.monotonic() > self.end:
            raise TimeoutError(
                f"wall-clock budget of {self.seconds} s exhausted after {done} of {total} games"
            )


parser = argparse.ArgumentParser()
parser.add_argument("--games", type=int, default=5000)
parser.add_argument("--budget-s", type=float, default=2.5)
args = parser.parse_args()
print(vars(args), flush=True)
budget = Budget(args.budget_s)
for game in range(args.games):
    budget.check(game, args.games)
    time.sleep(0.01)
    if game % 25 == 0:
        print(
            f"self-play game {game} | win rate {min(0.9, 0.3 + game / 1000):.3f} | value loss {1 / (1 + game / 50):.3f}",
            flush=True,
        )
print("self-play finished")
