# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "a KeyError of os.environ: a variable that is not set"
# ///
"""The program reads a variable of the environment that is not set."""

import os
import platform
from datetime import UTC, datetime


def run_directory():
    project = os.environ["EXPERIMENT_ROOT"]
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return os.path.join(project, stamp)


def main():
    print(
        "python",
        platform.python_version(),
        "cuda devices:",
        os.getenv("CUDA_VISIBLE_DEVICES", "unset"),
    )
    print("threads", os.getenv("OMP_NUM_THREADS"))
    directory = run_directory()
    print("writing to", directory)


main()
