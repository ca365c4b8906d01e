# /// case
# cause = "none"
# exit_code = 0
# why = "the program catches the errors of three rows and of one setting, and trains to its end"
# ///
"""Everything stands in a try; the errors are printed, and the training comes to its end."""

import random

random.seed(5)
rows = ["1.2,3.4,yes", "0.3,,no", "2.2,1.1,yes", "abc,0.2,no", "0.1,0.4,no", "1.9;2.0;yes"]
rows += [
    f"{random.random() + k:.2f},{random.random() + k:.2f},{'yes' if k else 'no'}"
    for k in (0, 1) * 40
]
good, bad = [], 0
for row in rows:
    try:
        a, b, answer = row.split(",")
        good.append((float(a), float(b), 1 if answer == "yes" else -1))
    except Exception as e:
        bad += 1
        print("ERROR!!! in row", repr(row), "->", e)
print("good rows:", len(good), "bad rows:", bad)
w = [0.0, 0.0, 0.0]
for epoch in range(1, 13):
    wrong = 0
    for a, b, target in good:
        if (w[0] * a + w[1] * b + w[2]) * target <= 0:
            wrong += 1
            w = [w[0] + target * a, w[1] + target * b, w[2] + target]
    print("epoch", epoch, "failures:", wrong)
try:
    import termcolor_extra
except ImportError as e:
    print("WARNING no colors:", e)
print("final weights", [round(v, 2) for v in w])
print("finished, saved nothing because not asked to")
