# /// case
# cause = "file_not_found"
# exit_code = 1
# ///
"""A zarr array is opened under a folder name that does not exist."""

import argparse

import zarr

parser = argparse.ArgumentParser()
parser.add_argument("--store", default="climate/era5_1979_2018.zarr")
parser.add_argument("--years", type=int, nargs=2, default=(1979, 2015))
args = parser.parse_args()
print(f"loading {args.store} for {args.years[0]}-{args.years[1]}")
fields = zarr.open_group(args.store, mode="r")
print(list(fields.keys()))
