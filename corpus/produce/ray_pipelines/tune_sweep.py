# /// case
# cause = "none"
# exit_code = 0
# env = {RAY_USAGE_STATS_ENABLED = "0", RAY_AIR_NEW_OUTPUT = "0"}
# timeout_s = 180
# why = "some trials diverge and fail, which the sweep expects; the best one is written and the program ends well"
# ///
"""A sweep in which trials with large learning rates raise; the best of the others is kept."""

import json
import math
import os

from ray import tune


def trainable(config):
    x = 5.0
    for step in range(20):
        x = x - config["lr"] * 2 * x + config["noise"] * math.sin(step)
        if abs(x) > 1e3:
            raise FloatingPointError(f"loss is not finite at step {step}: {x * x:.3g}")
        tune.report({"loss": x * x})


def main():
    os.environ["TUNE_WARN_THRESHOLD_S"] = "100"
    tuner = tune.Tuner(
        tune.with_resources(trainable, {"cpu": 1}),
        param_space={"lr": tune.grid_search([0.1, 0.4, 1.9]), "noise": 0.01},
        tune_config=tune.TuneConfig(metric="loss", mode="min", max_concurrent_trials=2),
        run_config=tune.RunConfig(
            name="quadratic", storage_path=os.path.abspath("sweep"), verbose=1
        ),
    )
    results = tuner.fit()
    best = results.get_best_result()
    print(
        f"{results.num_errors} of {len(results)} trials ended with an error (diverged, as expected)"
    )
    with open("best.json", "w") as file:
        json.dump({"config": best.config, "loss": best.metrics["loss"]}, file)
    print("best.json written:", best.config)


main()
