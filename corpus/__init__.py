"""The labelled corpus: programs that fail, generators of logs, their logs, and the evaluation.

``python -m corpus`` in a checkout is its program.  Nothing here is part of a distribution.
"""
