"""Prometheus metrics of the runs on this machine: their server, and a file for node_exporter."""
