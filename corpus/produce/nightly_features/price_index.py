# /// case
# cause = "div_zero"
# exit_code = 1
# why = "decimal words the division by zero in its own exceptions"
# ///
"""A price index in decimal numbers divides by the price of the base month."""

from decimal import Decimal, getcontext

getcontext().prec = 12
PRICES = {
    "bread": ["1.10", "1.15", "1.21"],
    "milk": ["0.89", "0.95", "0.99"],
    "gift card": ["0.00", "0.00", "25.00"],
}


def index(series, base=0):
    prices = [Decimal(p) for p in series]
    return [100 * p / prices[base] for p in prices[base + 1 :]]


def model_input(table):
    for name, series in table.items():
        row = index(series)
        print(f"{name:10s}", " ".join(f"{value:8.2f}" for value in row), flush=True)
        yield row


rows = list(model_input(PRICES))
print(f"{len(rows)} rows of features")
