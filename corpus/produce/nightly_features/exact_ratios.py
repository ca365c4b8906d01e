# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""Ratios are kept as fractions so that they stay exact, and one denominator is zero."""

import itertools
import logging
from fractions import Fraction

logging.basicConfig(
    level=logging.DEBUG, format="%(asctime)s [%(process)d] %(levelname)s %(funcName)s: %(message)s"
)


def bigrams(text):
    words = text.split()
    return list(itertools.pairwise(words))


def lift(pair, pairs, words):
    together = Fraction(pairs.count(pair), len(pairs))
    apart = Fraction(words.count(pair[0]), len(words)) * Fraction(words.count(pair[1]), len(words))
    logging.debug("%s together %s", pair, together)
    return Fraction(together.numerator * apart.denominator, together.denominator * apart.numerator)


def table(text, vocabulary):
    pairs = bigrams(text)
    words = [w for w in text.split() if w in vocabulary]
    return {pair: lift(pair, pairs, words) for pair in dict.fromkeys(pairs)}


logging.info("features for 2 documents")
text = "the loss of the model is the loss of the data"
logging.info("document 1: %d lifts", len(table(text, set(text.split()))))
logging.info("document 2: %d lifts", len(table(text, {"the", "loss", "model", "data"})))
