"""The text of the file of prices that `vertex-training prices refresh` writes, and where that file is.

Its rows replace rows of the built-in table with the same SKU, region and use. The command and the policy
pack read the file; nothing here does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from vertex_training.cost.prices import DEAREST, USES, Price, PriceTable, published, with_fees

LARGEST = 32 << 20
"""Bytes of a file that is read. `prices refresh` writes one or two million."""

_VERSION = 1
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def path_of(environ: Mapping[str, str], home: Callable[[], object]) -> str:
    """Return the path of the file, by the variable XDG_CACHE_HOME, or else by the home folder."""
    base = environ.get("XDG_CACHE_HOME", "")
    caches = base if base.startswith("/") else f"{home()}/.cache"
    return f"{caches}/vertex-training/prices.json"


def rows_of(text: str) -> tuple[Price, ...]:
    """Return the rows of a file, at least one. Raises ValueError for a text that is not of such a file."""
    return tuple(_rows(_document(text)))


def table_with(rows: Iterable[Price]) -> PriceTable:
    """Return the rows over the built-in prices, with the fees that follow by the rule."""
    return with_fees(published().with_rows(rows))


def text_of(rows: Iterable[Price]) -> str:
    """Return the text of a file with these rows."""
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
    return json.dumps(document, indent=1)


def _document(text: str) -> Any:
    """Return the JSON in a text. Raises ValueError for anything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON, or only a part of it") from error


def _rows(document: object) -> Iterator[Price]:
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
        if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price <= DEAREST:
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
