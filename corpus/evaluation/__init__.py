"""How often the classifier is right on the labelled logs: scores, first contact, robustness."""
