"""Telemetry: evidence about a run that GPUAlert samples from the machine, one module per source."""
