"""Memory of host and GPU: kills, failed allocations, and the warning before them."""
