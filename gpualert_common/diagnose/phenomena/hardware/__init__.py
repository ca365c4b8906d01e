"""Faults of GPU hardware: the family, the warning, and NVIDIA's Xid catalogue."""
