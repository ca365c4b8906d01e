"""Counters and flags of the driver for slowdowns of a GPU by heat or its power supply."""

from __future__ import annotations

COUNTERS = {
    "throttled_hw_thermal_ns_total": "heat",
    "throttled_sw_thermal_ns_total": "heat",
    "throttled_hw_power_brake_ns_total": "power",
}
"""Cumulative time of slowdown in nanoseconds, with its reason."""

FLAGS = {
    "hw_slowdown": "heat or power",
    "sw_thermal_slowdown": "heat",
    "hw_thermal_slowdown": "heat",
    "hw_power_brake_slowdown": "power",
}
"""Flags (0 or 1) of a slowdown at the time of the sample, with the reason."""
