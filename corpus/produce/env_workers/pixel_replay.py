# /// case
# cause = "host_oom"
# paper_class = "ram_oom"
# exit_code = 1
# why = "numpy cannot allocate the next segment under the limit of the process"
# ///
"""The replay buffer of pixels grows by segments until the process may have no more memory."""

import argparse
import multiprocessing as mp
import resource

import numpy as np
from tqdm import tqdm

parser = argparse.ArgumentParser()
parser.add_argument("--capacity", type=int, default=200_000)
parser.add_argument("--segment", type=int, default=20_000)
parser.add_argument("--memory-gb", type=float, default=3)
args = parser.parse_args()


def play(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 255, (16, 84, 84), dtype=np.uint8), float(rng.normal())


class PixelReplay:
    def __init__(self, capacity, segment):
        self.capacity, self.segment = capacity, segment
        self.segments, self.size = [], 0

    def add(self, frames):
        while self.size + len(frames) > len(self.segments) * self.segment:
            self.segments.append(np.empty((self.segment, 4, 84, 84), np.uint8))
            tqdm.write(f"replay: segment {len(self.segments)} of {self.capacity // self.segment}")
        self.segments[-1][self.size % self.segment] = frames[:4]
        self.size += self.segment // 8


def main():
    limit = int(args.memory_gb * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    replay = PixelReplay(args.capacity, args.segment)
    with mp.get_context("fork").Pool(2) as pool:
        bar = tqdm(pool.imap(play, range(80)), total=80, desc="filling", ncols=80)
        for frames, reward in bar:
            replay.add(frames)
            bar.set_postfix(reward=f"{reward:.2f}")
    print("replay full, training can start")


if __name__ == "__main__":
    main()
