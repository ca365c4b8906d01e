"""Profiles: where the processes of a run spend their time, by samples of their stacks.

py-spy samples each process (:mod:`.py_spy_sampler`) for the same seconds
(:mod:`.profile_collection`), from outside and by default without pausing it.  The samples become
trees with a count per rank (:mod:`.frame_trees`); of these follow
the places that take the time, and those where some ranks spend more of it than the others
(:mod:`.rank_differences`).  Nothing of the run is changed.
"""
