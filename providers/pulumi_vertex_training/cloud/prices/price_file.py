"""The file of prices that `vertex-training prices refresh` has read, in the user's cache.

    ~/.cache/vertex-training/prices.json   (or in $XDG_CACHE_HOME)

Its rows replace those of the built-in table with the same SKU, region and use. Without the file, or with one
that cannot be read, the built-in table counts: a preview never fails for its prices.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vertex_training.cost.prices import USES, Price, PriceTable, built_in, published, with_fees

_VERSION = 1
_LARGEST = 32 << 20
"""Bytes of a file that is read. That of `prices refresh` has one or two million."""
_DEAREST = 1e5
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


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
    """Return the prices to calculate with: those of the file over the built-in ones. Never raises."""
    return load().table


def load() -> PriceFile:
    """Return the prices, and where they come from. Never raises."""
    path = file_path()
    if path is None:
        return PriceFile(table=built_in(), path=None)
    try:
        found = path.stat()
    except OSError:
        return PriceFile(table=built_in(), path=path)
    if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
        return _ignored(path, f"it is not a file of at most {_LARGEST >> 20} MiB")
    return _load(path, (found.st_ino, found.st_size, found.st_mtime_ns))


@functools.lru_cache(maxsize=4)
def _load(path: Path, _version_of_file: tuple[int, int, int]) -> PriceFile:
    try:
        rows = tuple(_rows(_document(path.read_text(encoding="utf-8"))))
    except OSError as error:
        return _ignored(path, error.strerror or str(error))
    except ValueError as error:
        return _ignored(path, str(error))
    table = with_fees(published().with_rows(rows))
    return PriceFile(table=table, path=path, read_on=max(row.date for row in rows))


def _ignored(path: Path, why: str) -> PriceFile:
    return PriceFile(table=built_in(), path=path, problem=f"{path} is ignored: {why}")


def save(rows: Iterable[Price]) -> Path:
    """Write the file, all of it or nothing, and return its path. Raises OSError."""
    path = file_path()
    if path is None:
        raise OSError("the user has no home folder; set XDG_CACHE_HOME to a folder for the prices")
    document = {
        "version": _VERSION,
        "rows": [
            {
                "sku": row.sku,
                "region": row.region,
                "use": row.use,
                "usdPerHour": row.usd_per_hour,
                "source": row.source,
                "date": row.date,
                "derived": row.derived,
            }
            for row in rows
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".prices-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return path


def file_path() -> Path | None:
    """Return the path of the file, or None for a user without a home folder."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        caches = Path(base) if base.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        return None
    return caches / "vertex-training" / "prices.json"


def _document(text: str) -> Any:
    """Return the JSON in a text. Raises ValueError for anything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON, or only a part of it") from error


def _rows(document: Any) -> Iterator[Price]:
    """Yield the rows of a file. Raises ValueError for anything else."""
    version = document.get("version") if isinstance(document, Mapping) else None
    if isinstance(version, int) and version > _VERSION:
        raise ValueError(
            f"a newer pulumi-vertex-training wrote it, in format {version}; this one reads {_VERSION}"
        )
    if not isinstance(document, Mapping) or version != _VERSION:
        raise ValueError("it is not a file of prices")
    rows = document.get("rows")
    if not isinstance(rows, list) or not rows:
        raise ValueError("it has no rows")
    for row in rows:
        price = row.get("usdPerHour") if isinstance(row, Mapping) else None
        if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price <= _DEAREST:
            raise ValueError("a row has no price")
        if row.get("use") not in USES or not all(
            isinstance(row.get(name), str) for name in ("sku", "region", "source", "date")
        ):
            raise ValueError("a row is incomplete")
        if not _DATE.fullmatch(row["date"]):
            raise ValueError("a row has no date")
        yield Price(
            sku=row["sku"],
            region=row["region"],
            use=row["use"],
            usd_per_hour=float(price),
            source=row["source"],
            date=row["date"],
            derived=bool(row.get("derived")),
        )
