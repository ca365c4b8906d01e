# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A text stands where the model expects a number."""

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def load():
    rows = [[i % 7, i * 0.5, i % 2] for i in range(100)]
    rows[63][1] = "n.a."
    return pd.DataFrame(rows, columns=["visits", "spend", "label"])


def main():
    frame = load()
    print(frame.describe(include="all").to_string())
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    print("fitting", pipeline)
    pipeline.fit(frame[["visits", "spend"]], frame["label"])


main()
