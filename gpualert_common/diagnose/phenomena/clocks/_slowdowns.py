"""Counters and flags of the driver for a GPU that heat or its power supply slows down."""

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
"""Whether the GPU is slowed down at the time of the sample, 0 or 1, with the reason."""
