# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A misspelt option of the scheduler is refused by the executor."""

import submitit


def add(a, b):
    return a + b


if __name__ == "__main__":
    executor = submitit.AutoExecutor(folder="logs/%j", cluster="local")
    executor.update_parameters(time_min=30, gpus_per_node=0, slurm_partition="a100")
    print(executor.submit(add, 1, 2).result())
