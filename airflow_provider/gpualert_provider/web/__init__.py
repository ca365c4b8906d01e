"""Pages in Airflow's API server: the report of a task instance, and the failures of the DAGs."""
