# /// case
# cause = "cancelled"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# stop = {signal = "INT", when = "50%|", pid = "group"}
# env = {PYTHONUNBUFFERED = "1"}
# ///
"""Ctrl-C while several processes are mapping."""

import time

from datasets import Dataset

clips = Dataset.from_dict({"path": [f"clip_{i:05d}.wav" for i in range(1600)]})


def resample(row, rank):
    time.sleep(0.02)
    return {"rate": 16000, "rank": rank}


if __name__ == "__main__":
    print("resampling")
    clips = clips.map(resample, with_rank=True, num_proc=2, desc="resample", writer_batch_size=50)
    clips.save_to_disk("resampled")
