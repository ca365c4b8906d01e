# /// case
# cause = "dependency"
# paper_class = "runtime_error"
# exit_code = 1
# why = "a loading script of older versions of datasets; the installed one no longer runs them"
# ///
"""A data set with a loading script meets a version that dropped them."""

from pathlib import Path

import datasets

Path("my_corpus").mkdir()
Path("my_corpus/my_corpus.py").write_text("""
import datasets


class MyCorpus(datasets.GeneratorBasedBuilder):
    def _info(self):
        return datasets.DatasetInfo(features=datasets.Features({"text": datasets.Value("string")}))

    def _split_generators(self, dl_manager):
        return [datasets.SplitGenerator(name=datasets.Split.TRAIN)]

    def _generate_examples(self):
        for i in range(10):
            yield i, {"text": str(i)}
""")
print("datasets", datasets.__version__)
train = datasets.load_dataset("my_corpus", split="train")
