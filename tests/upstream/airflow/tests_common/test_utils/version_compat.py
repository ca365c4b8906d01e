"""Version of Airflow."""

from __future__ import annotations

from airflow import __version__
from packaging.version import Version

AIRFLOW_V_3_0_PLUS = Version(__version__) >= Version("3.0.0")
AIRFLOW_V_3_2_PLUS = Version(__version__) >= Version("3.2.0")
