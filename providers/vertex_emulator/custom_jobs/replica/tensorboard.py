"""The folder of a job's event files, which is there before the job begins when it names a TensorBoard."""

from __future__ import annotations

import contextlib
from pathlib import Path

from vertex_training.fields import uris


def make_folder(buckets_dir: Path, address: str) -> None:
    """Make what gs://BUCKET/PREFIX/ is at /gcs, in a bucket that is there; nothing for any other address."""
    try:
        found = uris.parse(address)
    except ValueError:
        return
    parts = [found.bucket, *(part for part in found.name.split("/") if part)]
    if {".", ".."} & set(parts) or not (buckets_dir / found.bucket).is_dir():
        return
    folder = buckets_dir
    with contextlib.suppress(OSError):  # an object has that name, or a part of it
        for part in parts:
            folder = folder / part
            if folder.is_symlink():  # programs make links in /gcs, and what they lead to is not ours
                return
            folder.mkdir(exist_ok=True)
