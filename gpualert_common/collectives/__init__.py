"""Collectives: the calls of each rank, and the ranks that the others wait for.

The calls come from PyTorch's flight recorder (:mod:`.dump_reader`, :mod:`.recorded_calls`), from
NCCL's RAS (:mod:`.ras_client`, :mod:`.ras_status`), or from the numbers that a watchdog printed.
Each becomes a trace (:mod:`.trace`); from those of all ranks follows the stall (:mod:`.analysis`).
"""
