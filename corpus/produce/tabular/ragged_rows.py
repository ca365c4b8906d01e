# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""One line of the CSV file has two fields too many."""

import logging

import pandas as pd

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")


def write_export(path):
    with open(path, "w") as file:
        file.write("id,age,income,city,churned\n")
        for i in range(2000):
            city = "Lisbon" if i != 1201 else "Porto, Braga, Faro"
            file.write(f"{i},{20 + i % 50},{1000 + i * 3},{city},{i % 2}\n")


write_export("customers.csv")
logging.info("loading customers.csv")
frame = pd.read_csv("customers.csv")
logging.info("%d rows, churn rate %.2f", len(frame), frame.churned.mean())
