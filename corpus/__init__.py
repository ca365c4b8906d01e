"""The labelled corpus: programs that fail, generators of logs, and the logs that both wrote."""
