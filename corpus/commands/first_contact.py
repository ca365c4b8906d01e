"""``python -m corpus first-contact``: the score of the rules on logs that are new to them."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from corpus.evaluation.first_contact import contact_to_json, record_contacts
from corpus.evaluation.text_report import format_contact


def run(options: argparse.Namespace) -> int:
    """Record the first contacts and print them."""
    today = datetime.now(UTC).date().isoformat()
    contacts = record_contacts(options.corpus, options.origins, today)
    if options.json:
        lines = ", ".join(contact_to_json(one) for one in contacts)
        print(f'{{"schema": 1, "contacts": [{lines}]}}')
        return 0
    for one in contacts:
        for line in format_contact(one):
            print(line)
    return 0
