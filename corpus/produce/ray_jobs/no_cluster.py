# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0", RAY_gcs_rpc_server_reconnect_timeout_s = "3", RAY_raylet_start_wait_time_s = "3"}
# why = "the head of the ray cluster is outside any process group and cannot be reached"
# ///
"""The driver cannot connect to the head node of an existing cluster."""

import argparse

import ray

parser = argparse.ArgumentParser()
parser.add_argument("--address", default="ray://127.0.0.1:10001")
args = parser.parse_args()
print("joining cluster at", args.address, flush=True)
ray.init(address=args.address)
print(ray.cluster_resources())
