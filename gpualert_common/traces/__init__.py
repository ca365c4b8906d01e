"""Traces of PyTorch's profiler: files of the ranks, their merging, and their analysis.

A trace is the JSON file that Kineto writes, one for each rank, or ``export_chrome_trace`` of
:mod:`torch.profiler`.  :mod:`.trace_file` reads it in batches of events.  :mod:`.merging` makes one
trace of those of all ranks; :mod:`.analyzer` makes the numbers of :mod:`.analysis`: each rank by
itself (:mod:`.rank_events`, :mod:`.reduction`), then all compared (:mod:`.rank_comparison`).
"""
