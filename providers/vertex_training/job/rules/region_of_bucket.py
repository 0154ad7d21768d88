"""The rule that a job and its bucket are in one region."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule

BUCKET_REGION = Rule(
    name="bucket-region",
    says="a job's bucket is in the one region that the job runs in",
    source='Vertex AI documentation, "Locations"; the service\'s own error text',
)


def bucket_region_problems(
    bucket: str | None, *, bucket_location: str | None, location: str | None, path: str = "staging_bucket"
) -> Iterator[Problem]:
    """A finding where the bucket's location is not the job's; upper and lower case are the same."""
    if not bucket_location or not location or bucket_location.lower() == location.lower():
        return
    other = f", or run the job in {bucket_location.lower()}" if "-" in bucket_location else ""
    yield BUCKET_REGION.broken(
        path,
        f"{bucket!r} is in {bucket_location.lower()!r}, the job runs in {location!r}; Vertex AI demands one "
        f"region for both. Create the bucket with location={location!r}{other}",
        rests_on=(path, f"{path}_location", "location"),
    )
