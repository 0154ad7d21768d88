"""The folder of a job's event files, which is there before the job begins when it names a TensorBoard."""

from __future__ import annotations

import contextlib
from pathlib import Path

from vertex_training.specs import uris


def make_folder(buckets_dir: Path, address: str) -> None:
    """Make what gs://BUCKET/PREFIX/ is at /gcs, in a bucket that is there; nothing for any other address."""
    try:
        found = uris.parse(address)
    except ValueError:
        return
    parts = [found.bucket, *(part for part in found.name.split("/") if part)]
    if {".", ".."} & set(parts) or not (buckets_dir / found.bucket).is_dir():
        return
    with contextlib.suppress(OSError):  # an object has that name, or a part of it
        buckets_dir.joinpath(*parts).mkdir(parents=True, exist_ok=True)
