"""Make HTML of what a page shows. Every text is escaped: a job's name or a line of a log is never markup."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pulumi_vertex_training.runs.monitoring.progress import duration
from pulumi_vertex_training.ui.pages.curves.chart import spark
from pulumi_vertex_training.ui.pages.page import Fragment, Part, Rows
from vertex_training.fields import timestamps
from vertex_training.findings.words import visible, visible_lines

_ROWS = 20_000
"""Rows of tables that are kept as HTML, so that a change of one does not make all of them again."""

_MARKS = {
    "running": "▶",
    "succeeded": "✔",
    "complete": "✔",
    "failed": "✖",
    "expired": "✖",
    "error": "✖",
    "infeasible": "✖",
    "cancelled": "■",
    "cancelling": "■",
    "stopped": "■",
    "stopping": "■",
    "restarting": "↻",
    "rebooting": "↻",
}
"""The sign of a state, beside its colour and its word; others have a circle."""

Rendered = Mapping[str, "str | Mapping[str, str]"]
"""The HTML of each part of a page by its id; of a table, of each row by the row's key."""


def seconds_of(moment: str) -> float:
    """Return a timestamp of the API in seconds since 1970, 0 for any other text."""
    try:
        return timestamps.parse(moment).timestamp()
    except ValueError:
        return 0.0


def local_time(moment: str) -> str:
    """Format a timestamp in the machine's time zone, to the second; "" for any other text."""
    seconds = seconds_of(moment)
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S") if seconds else ""


def ran_for(started: str, ended: str) -> str:
    """Format the time between two timestamps, "" unless both are given."""
    return duration(seconds_of(ended) - seconds_of(started)) if started and ended else ""


def mark(state: str) -> str:
    """Return the sign of a state, for those who cannot tell its colour."""
    return _MARKS.get(state.lower(), "●")


def ticks(text: str) -> Markup:
    """Return a text whose parts between backticks are code; all of it is escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def slug(state: str) -> str:
    """Return a state as the name of a class: letters and dashes only."""
    return "".join(c if c.isascii() and c.isalpha() else "-" for c in state.lower())


@functools.cache
def environment() -> Environment:
    """Return the templates."""
    made = Environment(
        loader=PackageLoader("pulumi_vertex_training.ui", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        local_time=local_time,
        mark=mark,
        slug=slug,
        spark=spark,
        ticks=ticks,
        visible=visible,
        visible_lines=visible_lines,
    )
    made.globals.update(ran_for=ran_for)
    return made


def document(template: str, values: Mapping[str, Any]) -> str:
    """Return a whole page."""
    return environment().get_template(template).render(values)


def rendered(parts: Mapping[str, Part], *, rows: int | None = None) -> Rendered:
    """Return the HTML of parts, with so many rows of each table, by default with all."""
    return {name: _rendered(part, rows) for name, part in parts.items()}


def markup(parts: Rendered) -> Mapping[str, Markup]:
    """Return rendered parts for a template that has them as they are."""
    return {
        name: Markup(html if isinstance(html, str) else "".join(html.values()))  # noqa: S704 - our own templates made it
        for name, html in parts.items()
    }


def totals(parts: Mapping[str, Part]) -> Mapping[str, int]:
    """Return the number of all rows of each table."""
    return {name: len(part.items) for name, part in parts.items() if isinstance(part, Rows)}


def digest(parts: Rendered) -> str:
    """Return a short name for the content of parts."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _rendered(part: Part, rows: int | None) -> str | Mapping[str, str]:
    if isinstance(part, Fragment):
        return environment().get_template(part.template).render(part.values)
    return {key: _row(part.template, key, item) for key, item in part.items[:rows]}


@functools.lru_cache(maxsize=_ROWS)
def _row(template: str, key: str, item: object) -> str:
    return environment().get_template(template).render(key=key, item=item)
