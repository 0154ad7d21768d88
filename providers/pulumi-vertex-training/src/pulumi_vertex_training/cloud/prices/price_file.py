"""The file of prices that `vertex-training prices refresh` has read, in the user's cache.

    ~/.cache/vertex-training/prices.json   (or in $XDG_CACHE_HOME)

Its rows replace rows of the built-in table with the same SKU, region and use. Without the file, or with one
that cannot be read, the built-in table counts: a preview never fails for its prices.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vertex_training.cost.price_file import LARGEST, path_of, rows_of, table_with, text_of
from vertex_training.cost.prices import Price, PriceTable, built_in


@dataclass(frozen=True, kw_only=True)
class PriceFile:
    """The prices to use, the path of the file, and why the file does not count, if so.

    `read_on` is the day on which its prices were read, "" without a file that counts.
    """

    table: PriceTable
    path: Path | None
    read_on: str = ""
    problem: str = ""

    @property
    def refreshed(self) -> bool:
        """Return whether the file counts."""
        return bool(self.read_on)

    @property
    def warning(self) -> str:
        """The problem with its remedy, "" without one."""
        if not self.problem:
            return ""
        return f"{self.problem}. The built-in prices count; run `vertex-training prices refresh`."


def current_prices() -> PriceTable:
    """Return the prices to calculate with: the file's over the built-in ones. Never raises."""
    return load().table


def load() -> PriceFile:
    """Return the prices, and where they come from. Never raises."""
    path = file_path()
    if path is None:
        return PriceFile(table=built_in(), path=None)
    try:
        found = path.stat()
    except FileNotFoundError:
        return PriceFile(table=built_in(), path=path)
    except OSError as error:
        return _ignored(path, error.strerror or str(error))
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        return _ignored(path, f"it is not a file of at most {LARGEST >> 20} MiB")
    return _load(path, (found.st_ino, found.st_size, found.st_mtime_ns))


@functools.lru_cache(maxsize=4)
def _load(path: Path, _version_of_file: tuple[int, int, int]) -> PriceFile:
    try:
        rows = rows_of(path.read_text(encoding="utf-8"))
    except OSError as error:
        return _ignored(path, error.strerror or str(error))
    except UnicodeDecodeError:
        return _ignored(path, "it is not UTF-8 text")
    except ValueError as error:
        return _ignored(path, str(error))
    return PriceFile(table=table_with(rows), path=path, read_on=max(row.date for row in rows))


def _ignored(path: Path, why: str) -> PriceFile:
    return PriceFile(table=built_in(), path=path, problem=f"{path} is ignored: {why}")


def save(rows: Iterable[Price]) -> Path:
    """Write the file, all of it or nothing, and return its path. Raises OSError."""
    path = file_path()
    if path is None:
        raise OSError("the user has no home folder; set XDG_CACHE_HOME to a folder for the prices")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".prices-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text_of(rows))
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return path


def file_path() -> Path | None:
    """Return the path of the file, or None for a user without a home folder."""
    try:
        return Path(path_of(os.environ, Path.home))
    except RuntimeError:
        return None
