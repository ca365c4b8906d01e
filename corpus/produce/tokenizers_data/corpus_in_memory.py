# /// case
# cause = "host_oom"
# exit_code = 1
# why = "the limit of the address space stands in for that of the job"
# ///
"""The whole corpus is read into a list and memory does not suffice."""

import resource
import sys

from tokenizers import Tokenizer, models

limit_mb = 700
resource.setrlimit(resource.RLIMIT_AS, (limit_mb << 20, limit_mb << 20))
print(f"ulimit -v {limit_mb << 10}", file=sys.stderr)


def load(shards):
    everything = []
    for shard in range(shards):
        block = bytearray(64 << 20)
        everything.append(block.decode("latin-1"))
        print(f"shard {shard:02d}: {len(everything[-1]) >> 20} MB of text read", flush=True)
    return everything


corpus = load(24)
tokenizer = Tokenizer(models.BPE())
tokenizer.train_from_iterator(corpus)
