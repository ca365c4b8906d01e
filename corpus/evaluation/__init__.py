"""Evaluation of the classifier on the labelled logs: scores, first contact, robustness."""
