# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the file is there but is the pointer that git leaves where large files were not fetched"
# ///
"""A parquet file is only the pointer of a large-file store."""

from pathlib import Path

from datasets import Dataset, load_dataset

Path("en").mkdir()
Dataset.from_dict({"text": ["a"] * 10}).to_parquet("en/train-00000-of-00002.parquet")
Path("en/train-00001-of-00002.parquet").write_text(
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 134217728\n"
)
ds = load_dataset("parquet", data_files="en/*.parquet", split="train")
print(ds)
