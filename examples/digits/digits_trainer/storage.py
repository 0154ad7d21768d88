"""Files that are either complete or absent, and the checkpoints made of them.

The folders are usually in a bucket, mounted below /gcs, where another replica reads what this one writes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .errors import InputError, OutputError
from .model import Array


@dataclass(frozen=True)
class Checkpoint:
    job: str
    """Digest of the job that wrote it, in hexadecimal: a folder may hold checkpoints of an earlier run."""
    epoch: int
    weights: Array


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file for writing, and give it its name when it is complete. Raises OutputError.

    The temporary name begins with a dot and is in the same folder, so that the rename stays in one bucket.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                yield file
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from error


def write_json(path: Path, value: Mapping[str, object]) -> None:
    """Write a value as JSON. Raises OutputError."""
    with replacing(path) as file:
        file.write((json.dumps(value, indent=2) + "\n").encode())


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint to a folder. Raises OutputError."""
    with replacing(folder / f"checkpoint-{checkpoint.epoch:04d}.npz") as file:
        np.savez(file, job=checkpoint.job, epoch=checkpoint.epoch, weights=checkpoint.weights)


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoints in the folder by epoch, none without a folder."""
    try:
        found = [(re.fullmatch(r"checkpoint-(\d{4,})\.npz", path.name), path) for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    return [path for _, path in sorted((int(match[1]), path) for match, path in found if match)]


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint. Raises InputError if the file is not a checkpoint."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
            return Checkpoint(
                job=str(content["job"]),
                epoch=int(content["epoch"]),
                weights=content["weights"].astype(np.float64),
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a checkpoint of this program: {error}.") from error
