# /// case
# cause = "missing_module"
# exit_code = 1
# why = "the job's process cannot import the module that the submitting process had on its path"
# ///
"""The submitting process has a module on its path that the job's process has not."""

import sys
from pathlib import Path

import submitit

Path("lib").mkdir(exist_ok=True)
Path("lib/scoring.py").write_text("def score(rows):\n    return sum(rows) / len(rows)\n")
sys.path.insert(0, "lib")

import scoring  # noqa: E402

if __name__ == "__main__":
    executor = submitit.LocalExecutor(folder="logs")
    executor.update_parameters(timeout_min=1)
    job = executor.submit(scoring.score, [1, 2, 3])
    print("score", job.result())
