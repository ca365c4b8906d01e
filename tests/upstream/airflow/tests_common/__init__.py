"""Airflow's own plumbing of this name is not published; this is what its Bash tests use of it.

Theirs offers far more.  Here are a real database, real DAG runs and the real task runner.
"""
