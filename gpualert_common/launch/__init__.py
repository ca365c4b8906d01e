"""Launch of a run: its record, log, signals and process.

Every run waits for what happens before its child starts, and nothing that fails later may reach the
child.  So the modules of this room, and those that they, the supervisor and its callers import
before a launch, are loaded first and are light: they import none of the modules that cost
milliseconds, ``typing`` and ``dataclasses`` among them.  Their classes are plain ones with
``__slots__``, and names that only annotations need are imported below ``TYPE_CHECKING = False``, a
name that type checkers take as true.  What runs after the launch imports as usual.
"""
