"""Alerts: schedule, outbox, sender, channels.

================  ==================================================================
targets           targets in a line, parsed
channel_config    the channels that the user configured, with checked settings
channel_secrets   the secrets of a channel, looked up when they are needed
alert_facts       the facts of a record that decide about its alert
schedule          from these facts to what is due now, later, or not at all; pure
entry, outbox     one file per alert and channel, written before anything is sent
reconciliation    the outbox, brought in line with the schedule
undelivered       markers of the records with open alerts
message, compose  a message, made from a record for the budget of a channel
isolation         a function in a process of its own
delivery          the attempts at delivering one alert
record_delivery   the one path of all alerts: queue what is due, send what is queued
sender            the process that does this, and outlives the process that started it
sender_launch     starts a sender and waits for it, never longer than a deadline
status_text       the state of an alert in a line
channels/         one file per kind of channel
================  ==================================================================

Before the launch only ``channel_config`` and the configured channels are imported.
"""
