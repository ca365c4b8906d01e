# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "submitit wraps the job's ValueError of a malformed record in FailedJobError"
# ///
"""A submitit job meets a malformed record; the parent shows it inside FailedJobError."""

import json

import submitit

LINES = ['{"text": "a b c", "label": 1}', '{"text": "d e"', '{"text": "f", "label": 0}']


def count_tokens(lines):
    return sum(len(json.loads(line)["text"].split()) for line in lines)


if __name__ == "__main__":
    executor = submitit.AutoExecutor(folder="logs/%j", cluster="local")
    executor.update_parameters(timeout_min=2, name="count")
    job = executor.submit(count_tokens, LINES)
    print("submitted", flush=True)
    print("tokens:", job.result())
