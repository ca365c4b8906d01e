"""The report of a run as it is now: one HTML file, with secrets masked."""

from __future__ import annotations

from gpualert_common.current_verdict import read_current_verdict
from gpualert_common.jobs.reading.isolated_reading import JobReading, read_job
from gpualert_common.pages.report import render_report
from gpualert_common.record import Record
from gpualert_common.redact import Redactor
from gpualert_common.report.text_sanitizer import Masks


def make_report(
    record: Record,
    *,
    masks: Masks | None = None,
    refresh_s: int | None = None,
    job: JobReading | None = None,
) -> str:
    """Return the report of a run, which may be in progress, in at most 1 MB of UTF-8.

    ``masks`` masks the secrets, by default those that the rules know.  With ``refresh_s`` a browser
    loads the page of a live run again after so many seconds.  ``job`` is the job of the run; by
    default it is read from its directory.  Raises RecordError when the launch record cannot be
    read.
    """
    found = read_current_verdict(record)
    if job is None:
        job = _read_job(record)
    return render_report(
        record,
        found.verdict,
        masks=masks or Redactor(),
        facts=found.facts,
        refresh_s=refresh_s if found.is_live or found.is_pending else None,
        job=job,
    )


def _read_job(record: Record) -> JobReading | None:
    job = record.spec.job
    if job is None or not job.get("directory") or not job.get("key"):
        return None
    return read_job(job["directory"], job["key"])
