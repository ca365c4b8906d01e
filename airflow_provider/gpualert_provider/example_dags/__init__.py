"""DAGs to start from; each runs by ``airflow dags test`` on any machine, without a GPU."""
