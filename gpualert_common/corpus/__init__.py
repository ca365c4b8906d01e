"""What the labelled logs say about the classifier: reading them, scoring it, telling the result."""
