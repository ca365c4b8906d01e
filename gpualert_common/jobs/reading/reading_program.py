"""Program that reads a job from its directory, for :mod:`.isolated_reading`."""

from __future__ import annotations

import sys
import time

import msgspec

from gpualert_common.errors import GPUAlertError
from gpualert_common.job_store.opening import open_store
from gpualert_common.jobs.digests.digest_codec import encode_file
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.reading.isolated_reading import JobReading, ReadingRequest
from gpualert_common.jobs.reading.job_reading import JobReader
from gpualert_common.jobs.reading.loading import THREADS
from gpualert_common.jobs.reading.reader_clock import ReaderClock

_MOST_REQUEST_BYTES = 1 << 20
_SHARE = 0.7
"""Share of the deadline for the digests; what was read by then is merged."""


def main() -> None:
    """Write the reading of the job that the request on stdin names to stdout."""
    data = sys.stdin.buffer.read(_MOST_REQUEST_BYTES)
    request = msgspec.json.decode(data, type=ReadingRequest)
    try:
        reading = _read(request)
    except GPUAlertError as error:
        reading = JobReading(problem=str(error), read_at=time.time())
    sys.stdout.buffer.write(encode_file(reading))
    sys.stdout.buffer.flush()


def _read(request: ReadingRequest) -> JobReading:
    until = time.monotonic() + _SHARE * request.deadline_s
    store = open_store(request.directory, deadline_s=_SHARE * request.deadline_s)
    reader = JobReader(JobDirectory(store, request.key), THREADS)
    failure = reader.read_all(until)
    report = ReaderClock().conclude(reader, until)
    problem = "" if failure is None else str(failure)
    return JobReading(report=report, problem=problem, read_at=time.time())
