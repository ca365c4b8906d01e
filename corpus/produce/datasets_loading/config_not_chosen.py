# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""The data set has several configurations and none is chosen."""

from pathlib import Path

from datasets import get_dataset_config_names, load_dataset

Path("legal").mkdir()
Path("legal/legal.py").write_text("""
import datasets


class Legal(datasets.GeneratorBasedBuilder):
    BUILDER_CONFIGS = [datasets.BuilderConfig(name="eu"), datasets.BuilderConfig(name="uk")]

    def _info(self):
        return datasets.DatasetInfo(features=datasets.Features({"text": datasets.Value("string")}))

    def _split_generators(self, dl_manager):
        return [datasets.SplitGenerator(name=datasets.Split.TRAIN)]

    def _generate_examples(self):
        for i in range(10):
            yield i, {"text": str(i)}
""")
print(get_dataset_config_names("legal", trust_remote_code=True))
train = load_dataset("legal", split="train", trust_remote_code=True)
print(train)
