"""Kineto: traces that running PyTorch processes of a run record of themselves, on request.

PyTorch's profiler, Kineto, asks a daemon every five seconds for a configuration, if it is told to
by its environment (:mod:`.daemon_launch`).  The daemon's side of the protocol (:mod:`.protocol`) is
ours: a program (:mod:`.daemon`) that starts before the launch and ends with the last process of the
run.  A request (:mod:`.requests`) is a file in the record; the daemon gives each chosen process
(:mod:`.targets`) the same start (:mod:`.session`) and keeps the files (:mod:`.stored_traces`).
"""
