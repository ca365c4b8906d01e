"""Alerts: who is told that a run has ended, when, and what became of it.  See docs/alerts.md.

=============  =====================================================================
targets        what the user asked for, as channels with checked settings
decide         whether an alert is due now, later, or not at all; pure
entry, outbox  one file per alert and channel, written before anything is sent
due            what a record says is due, and its outbox brought up to date with that
message        what a channel is given, and what it may hold
compose        a message from a record, for what a channel may hold
secrets        where a channel's secrets are had when they are needed
isolate        a function in a process of its own, for what may do anything
delivery       the attempts at delivering one alert
deliver        the one path: queue what is due, and send what is queued
process        the sender, which outlives whoever started it
dispatch       starts a sender and waits for it, never longer than a deadline
words          what became of an alert, in a line
channels/      one file per kind of channel
=============  =====================================================================

Nothing in here is imported before a run is launched but ``targets`` and the channels it names.
"""
