"""Stacks: where each process of a run stands, and on what it waits.

A dump (:mod:`.dump`) is taken from outside (:mod:`.collection`): Python frames by py-spy
(:mod:`.py_spy`), and the wait of each thread in the kernel (:mod:`.waits`) by /proc.  Ranks at one
place are a group (:mod:`.groups`); of the groups follows which process the others wait for
(:mod:`.culprits`).  Nothing of the run is changed.
"""
