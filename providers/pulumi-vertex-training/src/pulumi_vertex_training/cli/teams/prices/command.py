"""`prices`: print the price table, or read Google's current prices."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from datetime import datetime, timezone

from pulumi_vertex_training.cli.teams.prices import view
from pulumi_vertex_training.cli.teams.prices.options import REFRESH
from pulumi_vertex_training.cloud.prices import billing_catalog, price_file
from pulumi_vertex_training.views.target import DEFAULT_LOCATION, location_hint
from vertex_training.catalog.accelerators import NAMES as ACCELERATORS
from vertex_training.catalog.accelerators import meant
from vertex_training.catalog.machines import MACHINES
from vertex_training.catalog.regions import REGIONS
from vertex_training.command_line.answer import Answer, Sentences
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.command_line.output import Output
from vertex_training.cost.prices import CURRENCY
from vertex_training.findings.words import did_you_mean

_MOST_NAMES = 8
"""Names that a message lists."""


def prices(options: argparse.Namespace, output: Output) -> Answer:
    """Run the command `prices`."""
    if options.action == REFRESH:
        return _refresh(options, output)
    known = price_file.load()
    if known.warning:
        output.note(f"warning: {known.warning}")
    if options.of is not None:
        name = _named(options.of, {row.sku for row in known.table.rows.values()})
        return view.PricesOf(known=known, found=view.comparison(known.table, name))
    location = DEFAULT_LOCATION if options.location is None else options.location
    if location not in REGIONS:
        raise InputError(f"There are no prices of {location!r}.{location_hint(location)}", path="--location")
    return view.Prices(known=known, location=location)


def _named(name: str, skus: set[str]) -> str:
    """Return a machine type or SKU in the table's spelling. Raises InputError for another name.

    Words of one name alone are enough: "t4", "v6e".
    """
    names = {each.casefold(): each for each in (*MACHINES, *ACCELERATORS, *skus)}
    if found := names.get(name.casefold()):
        return found
    words = _words(name.casefold())
    alike = [names[each] for each in sorted(names) if words and words <= _words(each)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        more = f" and {len(alike) - _MOST_NAMES} more" if len(alike) > _MOST_NAMES else ""
        hint = f" Several names have it: {', '.join(alike[:_MOST_NAMES])}{more}."
    else:
        spellings = (meant(name) or name, name.upper())
        hint = next((hint for each in spellings if (hint := did_you_mean(each, names.values()))), "")
    raise InputError(
        f"{name!r} is not a machine type, an accelerator or a SKU of the table."
        f"{hint} `vertex-training prices` lists the SKUs.",
        path="--of",
    )


def _words(name: str) -> set[str]:
    return set(re.split("[-_ ]", name)) - {""}


def _refresh(options: argparse.Namespace, output: Output) -> Answer:
    if options.location is not None or options.of is not None:
        raise InputError("`prices refresh` reads all prices. Leave out --location and --of.", path="refresh")
    catalog = replace(billing_catalog.endpoint(), timeouts=options.timeouts)
    if sys.stderr.isatty():
        output.note("Reading the Cloud Billing catalog of Vertex AI and Compute Engine ...")
    rows = billing_catalog.read(catalog, date=datetime.now(timezone.utc).date().isoformat())
    if not rows:
        raise CommandError(
            "The Cloud Billing catalog has no price that this version can read. Nothing was changed."
        )
    try:
        path = price_file.save(rows)
    except OSError as error:
        raise CommandError(f"The prices could not be saved: {error}.") from error
    regions = sorted({row.region for row in rows})
    return Sentences(
        {"currency": CURRENCY, "file": str(path), "prices": len(rows), "regions": regions},
        [f"Read {len(rows):,} prices of {len(regions)} regions into {path}."],
    )
