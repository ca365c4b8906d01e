# /// case
# cause = "idle_hang"
# paper_class = ""
# exit_code = 1
# why = "the consumer waits for a queue that nobody fills; faulthandler's limit only reveals it"
# ///
"""The producer thread has ended without its end mark, and the trainer waits for the queue."""

import faulthandler
import logging
import queue
import threading
import time

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(threadName)s %(levelname)s %(message)s"
)
batches = queue.Queue(maxsize=4)


def produce(count):
    for i in range(count):
        batches.put([i] * 8)
    logging.info("producer read %d batches, leaving", count)


def main():
    threading.Thread(target=produce, args=(23,), name="producer").start()
    for step in range(25):
        faulthandler.dump_traceback_later(5, exit=True)
        batch = batches.get()
        time.sleep(0.02)
        if step % 5 == 0:
            logging.info("step %d sum %d", step, sum(batch))


main()
