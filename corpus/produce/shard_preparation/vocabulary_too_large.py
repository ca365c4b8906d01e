# /// case
# cause = "config"
# paper_class = "runtime_error"
# exit_code = 1
# command = "python {program} --size 8000 --model-type unigram"
# why = "the size that was asked for is more than the text can give; the text itself is sound"
# ///
"""A vocabulary of 8000 pieces is asked for, and the small text holds a few hundred at most."""

import argparse
import itertools

import sentencepiece as spm

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=200)
parser.add_argument("--model-type", choices=["unigram", "bpe"], default="bpe")
args = parser.parse_args()
subjects = ["the driver", "our model", "a shard", "this loader", "the scheduler"]
verbs = ["reads", "writes", "drops", "repeats", "restarts", "kills"]
objects = ["every token", "no checkpoint", "two jobs", "a batch", "the queue"]
with open("corpus.txt", "w") as out:
    for words in itertools.product(subjects, verbs, objects):
        out.write(" ".join(words) + ".\n")
print(f"training a {args.model_type} tokenizer with {args.size} pieces", flush=True)
spm.SentencePieceTrainer.train(
    input="corpus.txt",
    model_prefix=f"{args.model_type}{args.size}",
    vocab_size=args.size,
    model_type=args.model_type,
    num_threads=1,
    pad_id=3,
)
processor = spm.SentencePieceProcessor(model_file=f"{args.model_type}{args.size}.model")
print(processor.encode("the driver kills two jobs.", out_type=str))
