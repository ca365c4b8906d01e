"""Evidence against families that other folders decide by evidence for them."""
