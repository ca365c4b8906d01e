"""Form of a connection of type ``gpualert``, and texts of options, in Airflow's pages.

Plain data without imports, since every Airflow command reads it.
"""

HIDDEN = ["schema"]

RELABELING = {
    "host": "Mail server",
    "login": "User of the mail server",
    "password": "Password of the mail server, or URL of a chat",
}

PLACEHOLDERS = {
    "host": "mail.example.org; empty for a chat",
    "port": "587 with starttls, 465 with ssl, 25 with none",
    "password": "for a chat: its URL for apprise, such as slack://... or ntfy://...",
}

FIELDS = {
    "security": "Encryption of the mail server: starttls (the default), ssl or none",
    "from": "Sender of the mails; by default the user, or gpualert at the host",
    "to": "Recipients of the mails, separated by commas",
    "ca_file": "File of certificates to trust in addition to the system's, on the worker",
}
"""Fields in the connection's extra."""

REPORT_STORE = (
    "Place where workers store the reports of finished runs, for an API server that cannot read "
    "their records: xcom, or the URL of a folder. Empty for none."
)
"""Description of the option in Airflow's configuration."""
