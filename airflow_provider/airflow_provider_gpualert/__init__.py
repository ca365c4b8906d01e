"""The name by which Airflow looks for the example DAGs of this distribution (``load_examples``).

It makes it from the distribution's name, and logs an error where there is no such module.
"""

from gpualert_provider import __path__

__all__ = ["__path__"]
