"""Verdicts and records for people: one view, and renderers for the terminal, Markdown and messages.

====================  ============================================================
verdict_view          a verdict prepared for display: the one view of all renderers
run_view              the view of a run: its verdict, its facts, its files
run_facts             where and when a run was, and how it ended
terminal              a view as lines of a terminal
markdown              a view as a page for engines and chats
closing_lines         a verdict in the few lines at the end of ``gpualert run``
message               a view as subject, text and page, within limits
alert_phrases         the sentences that templates know as ``said``
shortening            the order in which parts of a long message are left out
early_warning         a warning while a run is in progress, as subject and text
wording               the closed words of a verdict in sentences
formatting            times, sizes and lines: the filters of the templates
text_sanitizer        texts redacted, bounded, and safe to show
template_environment  where templates come from, and the sandbox of a user's own
template_limits       time and memory of a user's template
template_checks       faults of a user's templates
samples               views to try templates on
====================  ============================================================
"""
