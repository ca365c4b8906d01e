# /// case
# cause = "data"
# exit_code = 1
# paper_class = "traceback"
# why = "a cell of the table holds a question mark where a number is expected"
# ///
"""The table has a cell that somebody filled with a question mark."""

import random

random.seed(1)
with open("wine.csv", "w") as f:
    f.write("alcohol;acid;sugar;quality\n")
    for i in range(120):
        sugar = "?" if i == 87 else round(random.uniform(1, 9), 1)
        f.write(f"{random.uniform(9, 14):.1f};{random.uniform(0, 1):.2f};{sugar};{i % 5 + 3}\n")

rows = []
with open("wine.csv") as f:
    header = f.readline().strip().split(";")
    print("columns:", header)
    for number, line in enumerate(f, 2):
        if number % 25 == 0:
            print("reading line", number, "...")
        rows.append([float(cell) for cell in line.strip().split(";")])
print(len(rows), "wines")
means = [sum(column) / len(column) for column in zip(*rows, strict=True)]
for name, mean in zip(header, means, strict=True):
    print("mean of", name, "=", round(mean, 3))
