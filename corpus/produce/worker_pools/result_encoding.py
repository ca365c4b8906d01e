# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# why = "the result of a task cannot be sent back"
# ///
"""A worker answers with a generator, which cannot be sent back."""

from multiprocessing import Pool

from tqdm import tqdm

TEXTS = ["the cat sat", "on the mat", "and looked at", "the other cat"] * 5


def tokenize(text):
    return len(text), (word for word in text.split())


if __name__ == "__main__":
    total = 0
    with Pool(2) as pool:
        for length, words in tqdm(pool.imap(tokenize, TEXTS), total=len(TEXTS)):
            total += length
    print("characters:", total)
