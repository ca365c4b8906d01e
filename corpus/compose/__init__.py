"""Generators of logs that cannot be produced here, after documented message formats."""
