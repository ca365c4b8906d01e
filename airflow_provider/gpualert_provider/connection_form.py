"""How a connection of type ``gpualert`` is asked for in Airflow's pages.

Plain data and no import, since every Airflow command reads it.
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
    "password": "of a chat: its URL for apprise, such as slack://... or ntfy://...",
}

FIELDS = {
    "security": "Encryption of the mail server: starttls (where nothing is said), ssl or none",
    "from": "Sender of the mails; where nothing is said the user, or gpualert at the host",
    "to": "Recipients of the mails, with commas between them",
    "ca_file": "File of certificates to trust beside the system's, on the worker",
}
"""What is kept in the connection's extra."""
