# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "the error is logged by loguru and wrapped by the program's own exception"
# ///
"""The table of labels is not in the folder of the experiment."""

import sys

import pandas as pd
from loguru import logger


class PreparationError(Exception):
    """The data of an experiment could not be prepared."""


def load_labels(path):
    try:
        return pd.read_csv(path, index_col="id")
    except OSError as error:
        raise PreparationError("labels could not be loaded") from error


@logger.catch(onerror=lambda _: sys.exit(1))
def main():
    logger.info("experiment 2026-04 baseline")
    logger.warning("column 'fold' is missing in the metadata, assuming 5 folds")
    labels = load_labels("inputs/labels_v3.csv")
    logger.info("{} labels", len(labels))


main()
