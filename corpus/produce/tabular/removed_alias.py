# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# why = "a name that newer versions of numpy no longer have"
# ///
"""A type alias that numpy has removed is still used by a helper of the program."""

import numpy as np
import pandas as pd


def reduce_memory(frame):
    for column in frame:
        kind = np.float if frame[column].dtype.kind == "f" else np.int
        frame[column] = frame[column].astype(kind)
    return frame


print("numpy", np.__version__, "pandas", pd.__version__)
frame = pd.DataFrame({"a": [1.5, 2.5], "b": [1, 2]})
print("memory before:", frame.memory_usage(deep=True).sum())
print("memory after:", reduce_memory(frame).memory_usage(deep=True).sum())
