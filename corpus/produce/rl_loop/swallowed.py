# /// case
# cause = "traceback"
# exit_code = 0
# why = "logger.catch swallows the error: exit 0, and the training is evidently not done"
# ///
"""loguru catches the error of the training, and the program ends with status 0."""

import random
import sys

from loguru import logger

logger.remove()
logger.add(
    sys.stderr,
    format="{time:YYYY-MM-DD HH:mm:ss.SSS} | {level: <8} | {name}:{function}:{line} - {message}",
)


class Agent:
    def __init__(self):
        self.epsilon = 1.0
        self.memory = []

    def observe(self, transition):
        self.memory.append(transition)
        self.epsilon *= 0.99

    def learn(self):
        batch = random.sample(self.memory, 8)
        return sum(reward for _, reward in batch) / len(batch)


@logger.catch
def main(total=1000):
    agent = Agent()
    for step in range(1, total + 1):
        agent.observe((step, step % 3) if step < 230 else (step, None))
        if step % 50 == 0:
            logger.info(
                "step {}/{} mean reward {:.3f} epsilon {:.2f}",
                step,
                total,
                agent.learn(),
                agent.epsilon,
            )
    logger.success("trained for {} steps", total)


random.seed(1)
main()
