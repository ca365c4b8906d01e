# /// case
# cause = "none"
# exit_code = 0
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# why = "one trial of the study fails, the study is finished with a best result"
# ///
"""A trial of a tune study fails with an error; the study finishes all the same."""

import os

import ray
from ray import tune


def objective(config):
    weight = 3.0
    for _ in range(5):
        weight -= config["lr"] * 2 * weight
        if abs(weight) > 50:
            raise ValueError(f"loss exploded: {weight * weight:.1f}")
        tune.report({"loss": weight * weight})


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False)
    tuner = tune.Tuner(
        objective,
        param_space={"lr": tune.grid_search([0.1, 0.4, 1.9])},
        run_config=tune.RunConfig(storage_path=os.path.abspath("results"), verbose=1),
    )
    results = tuner.fit()
    print(f"{len(results)} trials, {results.num_errors} errors")
    print("best loss", results.get_best_result("loss", "min").metrics["loss"])
