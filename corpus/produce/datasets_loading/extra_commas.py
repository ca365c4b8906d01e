# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""Unquoted commas in a CSV file give one row more fields than the header."""

import random

import datasets
from datasets import load_dataset

datasets.logging.set_verbosity_info()
random.seed(0)
with open("reviews.csv", "w") as out:
    out.write("id,stars,text\n")
    for i in range(300):
        text = "nice but slow" if i != 211 else "nice, but slow, and loud"
        out.write(f"{i},{random.randint(1, 5)},{text}\n")

reviews = load_dataset("csv", data_files="reviews.csv")["train"]
print(reviews.unique("stars"))
