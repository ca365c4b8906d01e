# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "sqlite says only that it cannot open the database; the lines before show that its folder is not there"
# ///
"""The catalogue of the pictures is expected on a volume that is not there, and sqlite says little about it."""

import argparse
import logging
import sqlite3
import sys
from pathlib import Path

import pandas as pd

logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(levelname)-8s%(message)s")
parser = argparse.ArgumentParser()
parser.add_argument("--catalogue", type=Path, default=Path("/mnt/archive/catalogue/images.sqlite"))
parser.add_argument("--shards", type=int, default=8)
parser.add_argument("--min-side", type=int, default=64)
args = parser.parse_args()

logging.info("building %d shards of pictures with sides of %d or more", args.shards, args.min_side)
for folder in reversed(args.catalogue.parents):
    logging.debug("%-28s %s", folder, "ok" if folder.is_dir() else "missing")
try:
    connection = sqlite3.connect(args.catalogue, timeout=5)
    table = pd.read_sql("select path, width, height from images", connection)
except sqlite3.Error:
    logging.exception("cannot read the catalogue")
    sys.exit(1)
table = table[table[["width", "height"]].min(axis=1) >= args.min_side]
for number in range(args.shards):
    table.iloc[number :: args.shards].to_parquet(f"shard-{number:02d}.parquet")
