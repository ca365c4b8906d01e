# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search python {program}"
# needs = ["root"]
# why = "the socket of the service belongs to another user"
# ///
"""The feature service listens on a socket that this user may not connect to; the client retries first."""

import logging
import os
import socket
import time

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("featurestore.client")
os.makedirs("run")
service = socket.socket(socket.AF_UNIX)
service.bind("run/features.sock")
service.listen()
os.chmod("run/features.sock", 0o000)


def connect(path, attempts):
    for attempt in range(1, attempts + 1):
        try:
            client = socket.socket(socket.AF_UNIX)
            client.connect(path)
            return client
        except OSError as error:
            log.warning("attempt %d/%d: %s", attempt, attempts, error)
            if attempt == attempts:
                raise
            time.sleep(0.2 * attempt)


log.info("training set: 12 partitions")
connection = connect("run/features.sock", 4)
log.info("connected")
