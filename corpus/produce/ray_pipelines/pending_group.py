# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# why = "the placement group asks for more than the cluster of the settings can ever have; it stays pending until the program's own time-out"
# ///
"""The bundles of the placement group can never be placed; the program waits and then gives up."""

import logging
import sys

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

logging.basicConfig(
    level=logging.INFO, stream=sys.stdout, format="[%(asctime)s] %(name)s: %(message)s"
)
log = logging.getLogger("launcher")
LEARNER, ROLLOUT, ROLLOUTS = {"CPU": 2}, {"CPU": 1}, 6


@ray.remote
class Rollout:
    def __init__(self, index):
        self.index = index

    def episode(self, policy):
        return sum(policy) * self.index


def reserve(wait_s):
    group = placement_group([LEARNER] + [ROLLOUT] * ROLLOUTS, strategy="STRICT_PACK")
    log.info("waiting %d s for %d bundles", wait_s, ROLLOUTS + 1)
    try:
        ray.get(group.ready(), timeout=wait_s)
    except ray.exceptions.GetTimeoutError:
        available = ray.cluster_resources().get("CPU")
        log.error("placement group not ready after %d s", wait_s)
        log.error("requested %d CPUs with STRICT_PACK, cluster has %d", 2 + ROLLOUTS, available)
        remove_placement_group(group)
        raise
    return group


def main():
    ray.init(num_cpus=4, include_dashboard=False, logging_level="WARNING")
    group = reserve(10)
    place = PlacementGroupSchedulingStrategy(group)
    actors = [
        Rollout.options(scheduling_strategy=place, num_cpus=1).remote(i) for i in range(ROLLOUTS)
    ]
    print(ray.get([one.episode.remote([1, 2]) for one in actors]))


main()
