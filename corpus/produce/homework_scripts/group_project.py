# /// case
# cause = "file_not_found"
# exit_code = 1
# ///
"""The path of the other student's laptop stays in the script."""

import csv
import platform

print("Python", platform.python_version())
print("Group 7: Predicting bike rentals")
BASE = "C:/Users/student/Desktop/ml_project"
files = ["hour.csv", "day.csv"]


def load(name):
    print("loading", name, end=" ... ")
    with open(BASE + "/data/" + name, newline="", encoding="utf-8") as f:
        table = list(csv.DictReader(f))
    print("ok,", len(table), "rows")
    return table


tables = [load(name) for name in files]
print("total", sum(len(t) for t in tables))
