"""Example DAGs; each runs by ``airflow dags test`` on any machine, without a GPU."""
