"""Alerts: who is told that a run has ended, when, and what became of it.  See docs/alerts.md.

=============  =====================================================================
targets        what the user asked for, as channels with checked settings
decide         whether an alert is due now, later, or not at all; pure
outbox         one file per alert and channel, written before anything is sent
compose        a message from a record, for what a channel may hold
courier        the attempts at delivering one alert, each in a process of its own
deliver        the one path: queue what is due, and send what is queued
process        the sender, which outlives whoever started it
dispatch       starts a sender and waits for it, never longer than a deadline
channels/      one file per kind of channel
=============  =====================================================================

Nothing in here is imported before a run is launched but ``targets`` and the channels it names.
"""
