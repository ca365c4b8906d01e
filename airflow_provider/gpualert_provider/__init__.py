"""GPUAlert for Airflow.  Imports nothing but its version, since every Airflow command reads it."""

from gpualert_common._version import __version__

__all__ = ["__version__", "get_provider_info"]


def get_provider_info() -> dict[str, object]:
    """What this package adds to Airflow, in the form of Airflow's provider schema."""
    return {
        "package-name": "airflow-provider-gpualert",
        "name": "GPUAlert",
        "description": "Trainings that cannot lose their log, their status or their worker",
        "versions": [__version__],
        "integrations": [{"integration-name": "GPUAlert", "tags": ["software"]}],
        "operators": [
            {
                "integration-name": "GPUAlert",
                "python-modules": ["gpualert_provider.operators.gpualert"],
            }
        ],
        "task-decorators": [
            {
                "name": "gpualert",
                "class-name": "gpualert_provider.decorators.gpualert.gpualert_task",
            }
        ],
        "notifications": ["gpualert_provider.notifications.gpualert.GPUAlertNotifier"],
        "extra-links": ["gpualert_provider.links.VerdictLink"],
    }
