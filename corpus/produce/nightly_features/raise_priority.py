# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-sys_nice python {program}"
# needs = ["root"]
# ///
"""The job wants a higher priority than its user may ask for."""

import logging
import os
import time

logging.basicConfig(format="{asctime} {levelname:8} {message}", style="{", level=logging.INFO)
logging.info("nightly features, niceness %d", os.nice(0))
for table in ("orders", "returns", "visits"):
    time.sleep(0.05)
    logging.info("table %s: aggregated", table)
logging.info("last table is large, raising priority")
os.nice(-10)
logging.info("table events: aggregated")
