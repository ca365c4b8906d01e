# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "the log tells only that a URL names nothing; that the host is down does not show in it"
# ///
"""The URL of the data cannot be found, and the reason is swallowed by the library."""

from datasets import load_dataset

URL = "http://127.0.0.1:9/exports/2026-10/train.jsonl"
print(f"streaming {URL}")
stream = load_dataset("json", data_files=URL, split="train", streaming=True)
for step, row in enumerate(stream):
    print(step, row)
