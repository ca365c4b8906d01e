# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A label of the test set is not among the classes."""

from datasets import ClassLabel, Dataset, DatasetDict

names = ["anger", "fear", "joy", "sadness"]
emotions = DatasetDict(
    train=Dataset.from_dict({"text": ["x"] * 40, "label": names * 10}),
    test=Dataset.from_dict({"text": ["x"] * 5, "label": [*names, "Joy "]}),
)
print(emotions)
emotions = emotions.cast_column("label", ClassLabel(names=names))
print(emotions["test"].features)
