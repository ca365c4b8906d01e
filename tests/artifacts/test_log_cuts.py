"""The end of a log has no part of a secret, wherever the log is cut."""

from __future__ import annotations

import pytest

from gpualert_common import artifacts
from gpualert_common.artifacts import log_tails
from gpualert_common.redact import Redactor
from tests.artifacts.workplace import Workplace
from tests.redact.planting import WHOLE_FORMS, PlantedSecret, fill_words

WINDOW_BYTES = 6_000
TAIL_BYTES = 2_000
_CUTS = 6


@pytest.mark.parametrize("notation", WHOLE_FORMS)
def test_end_of_a_log(notation: str, place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the last lines nor the attached end of a log show a part of a secret."""
    monkeypatch.setattr(log_tails, "WINDOW_BYTES", WINDOW_BYTES)
    planted = PlantedSecret(notation)
    size = len(planted.sample.text)
    for limit in (WINDOW_BYTES, WINDOW_BYTES - 4096, TAIL_BYTES):
        for at in range(limit - size - 4, limit + 6, max(1, size // _CUTS)):
            for gap in ("\n", " "):  # in lines of its own, and in one long line
                rest = fill_words(max(0, at - 300)) + "\n" + fill_words(min(at, 299))
                log = f"{fill_words(30_000)}{gap}{planted.sample.text}{gap}{rest}"
                if gap == " " and planted.find_survivors(Redactor().mask_text(log)):
                    continue  # it is only recognized on lines of its own
                place.log(log.encode())
                lines = artifacts.read_last_lines(place.record, Redactor(), 40)
                assert not planted.find_survivors("\n".join(lines))
                ((_, tail),) = artifacts.read_log_tails(place.record, Redactor(), TAIL_BYTES)
                assert not planted.find_survivors(tail.decode())
