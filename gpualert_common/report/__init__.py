"""Verdicts and records for people: one view, and renderers for the terminal, Markdown and messages.

====================  ============================================================
verdict_view          a verdict prepared for display: the one view of all renderers
run_view              the view of a run: its verdict, its facts, its files
run_facts             place, time and outcome of a run
terminal              a view as lines of a terminal
markdown              a view as a page for engines and chats
notes                 messages of the program, on one line each or wrapped for a terminal
closing_lines         a verdict in a few lines, for the end of ``gpualert run``
run_logs              the log that has the error, and logs that are empty or were not read
message               a view as subject, text and page, within limits
alert_phrases         the phrases of an alert: the variable ``phrases`` of templates
shortening            the order in which parts of a long message are left out
early_warning         a warning while a run is in progress, as subject and text
wording               the enumerated values of a verdict, in words
formatting            times, sizes and lines: the filters of the templates
text_sanitizer        texts redacted, bounded, and safe to show
template_environment  the loaders of templates, and the sandbox of a user's own
template_limits       time and memory of a user's template
template_checks       faults of a user's templates
samples               views to try templates on
====================  ============================================================
"""
