"""Full resource names of Google Cloud, such as projects/1/locations/us-central1/customJobs/2."""

from __future__ import annotations


def resource_id(name: str) -> str:
    """Return the last part of a full name; a bare id stays as it is.

    >>> resource_id("projects/1/locations/us-central1/customJobs/2")
    '2'
    """
    return name.rpartition("/")[2]


def collection(name: str) -> str:
    """Return the part before the id, "customJobs"; "" for a bare id."""
    return name.rpartition("/")[0].rpartition("/")[2]


def part_after(name: str, collection: str) -> str | None:
    """Return the part of a full name that follows a collection, such as the project after "projects".

    It is None for a bare id.
    """
    parts = name.split("/")
    return parts[parts.index(collection) + 1] if collection in parts[:-1] else None
