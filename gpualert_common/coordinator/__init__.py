"""The coordinator of a distributed run: its address, its reachability, and the processes it has."""
