"""The commands of the program, one module each; the file name is the command's name.

A module's docstring begins with its line in ``gpualert --help``.  ``add_arguments(parser)`` adds
its arguments, and ``execute(options)`` runs it and returns the exit status.  Only the module of the
command that is called is imported.
"""
