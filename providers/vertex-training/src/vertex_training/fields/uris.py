"""Cloud Storage addresses: `gs://bucket/name`, and `/gcs/bucket/name`, the path inside a replica."""

from __future__ import annotations

import re
from dataclasses import dataclass

GCS_MOUNT = "/gcs"
DIRECTORY = "base_output_directory"
"""The field of a job with the gs:// directory that it writes to."""


@dataclass(frozen=True)
class GcsUri:
    """An object, or a prefix of objects, in a bucket; `name` is "" for the bucket itself."""

    bucket: str
    name: str = ""

    def __str__(self) -> str:
        return f"gs://{self.bucket}/{self.name}" if self.name else f"gs://{self.bucket}"

    @property
    def mounted(self) -> str:
        """Return the file's path inside a replica (Cloud Storage FUSE)."""
        return f"{GCS_MOUNT}/{self.bucket}/{self.name}" if self.name else f"{GCS_MOUNT}/{self.bucket}"

    def join(self, *parts: str) -> GcsUri:
        """Return the address below this one, without empty parts and doubled slashes between parts."""
        below = [part.strip("/") for part in parts[:-1]] + [part.lstrip("/") for part in parts[-1:]]
        return GcsUri(self.bucket, "/".join(part for part in (self.name.rstrip("/"), *below) if part))


def unmounted(text: str) -> str:
    """Return the gs:// address of a path below /gcs, and any other text as it is."""
    below = text.removeprefix(f"{GCS_MOUNT}/")
    return text if below == text else f"gs://{below}"


def parse(uri: str) -> GcsUri:
    """Parse `gs://bucket[/name]`. Raises ValueError for any other text."""
    match = re.fullmatch(r"gs://([^/]+)(?:/(.*))?", uri, re.DOTALL)
    if match is None:
        raise ValueError(f"{uri!r} is not a Cloud Storage address; write gs://BUCKET/NAME")
    return GcsUri(match.group(1), match.group(2) or "")


def parse_or_none(uri: str) -> GcsUri | None:
    """Parse `gs://bucket[/name]`, or return None for any other text."""
    try:
        return parse(uri)
    except ValueError:
        return None


def directory(uri: str) -> str:
    """Return a prefix with exactly one slash at its end, as the service stores `outputUriPrefix`.

    A text that is not a Cloud Storage address is returned unchanged.
    """
    return uri.rstrip("/") + "/" if re.match(r"gs://[^/]", uri) else uri
