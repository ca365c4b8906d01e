"""GPUAlert for Airflow.  Imports only its version, since every Airflow command reads it."""

from gpualert_common._version import __version__

__all__ = ["__version__", "get_provider_info"]


def get_provider_info() -> dict[str, object]:
    """Return the components of this package, in the form of Airflow's provider schema."""
    from gpualert_provider import connection_form as form

    return {
        "package-name": "airflow-provider-gpualert",
        "name": "GPUAlert",
        "description": "Trainings that keep their log and exit status and outlive their worker",
        "versions": [__version__],
        "integrations": [{"integration-name": "GPUAlert", "tags": ["software"]}],
        "operators": [
            {
                "integration-name": "GPUAlert",
                "python-modules": ["gpualert_provider.operators.gpualert"],
            }
        ],
        "triggers": [
            {
                "integration-name": "GPUAlert",
                "python-modules": ["gpualert_provider.triggers.gpualert"],
            }
        ],
        "task-decorators": [
            {
                "name": "gpualert",
                "class-name": "gpualert_provider.decorators.gpualert.gpualert_task",
            }
        ],
        "hooks": [
            {
                "integration-name": "GPUAlert",
                "python-modules": ["gpualert_provider.hooks.gpualert"],
            }
        ],
        "connection-types": [
            {
                "connection-type": "gpualert",
                "hook-class-name": "gpualert_provider.hooks.gpualert.GPUAlertHook",
                "hook-name": "GPUAlert",
                "ui-field-behaviour": {
                    "hidden-fields": form.HIDDEN,
                    "relabeling": form.RELABELING,
                    "placeholders": form.PLACEHOLDERS,
                },
                "conn-fields": {
                    name: {
                        "label": name,
                        "description": text,
                        "schema": {"type": ["string", "null"]},
                    }
                    for name, text in form.FIELDS.items()
                },
            }
        ],
        "notifications": ["gpualert_provider.notifications.gpualert.GPUAlertNotifier"],
        "extra-links": ["gpualert_provider.links.VerdictLink"],
        "config": {
            "gpualert": {
                "description": "Pages of GPUAlert in Airflow.",
                "options": {
                    "report_store": {
                        "description": form.REPORT_STORE,
                        "version_added": __version__,
                        "type": "string",
                        "example": "s3://aws_default@my-bucket/gpualert",
                        "default": "",
                    }
                },
            }
        },
    }
