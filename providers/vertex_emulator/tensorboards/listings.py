"""The list methods of tensorboards: fields in filters, orders, and the sizes of pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.vertex import listing
from vertex_emulator.vertex.listing import Listing
from vertex_emulator.vertex.operations import V1

_ORDERS = {
    "display_name": lambda record: record.message.display_name,
    "create_time": lambda record: record.created,
    "update_time": lambda record: record.message.update_time.ToMicroseconds(),
}
_FIELDS = {
    "name": listing.Field(value=lambda record: record.name),
    "display_name": listing.DISPLAY_NAME,
    "create_time": listing.CREATE_TIME,
}
_TENSORBOARDS = Listing(
    answer=f"{V1}.ListTensorboardsResponse",
    items="tensorboards",
    fields={
        **_FIELDS,
        "labels": listing.LABELS,
        "is_default": listing.Field(
            value=lambda record: str(record.message.is_default).lower(), known=("true", "false")
        ),
    },
    orders=_ORDERS,
    most=100,
)


def tensorboards(*, shown: Callable[[Any], Message]) -> Listing:
    """Return the list method of tensorboards."""
    return replace(_TENSORBOARDS, shown=shown)


EXPERIMENTS = Listing(
    answer=f"{V1}.ListTensorboardExperimentsResponse",
    items="tensorboard_experiments",
    fields={
        **_FIELDS,
        "labels": listing.LABELS,
        "source": listing.Field(value=lambda record: record.message.source),
    },
    orders=_ORDERS,
    page=50,
)
RUNS = Listing(
    answer=f"{V1}.ListTensorboardRunsResponse",
    items="tensorboard_runs",
    fields={**_FIELDS, "labels": listing.LABELS},
    orders=_ORDERS,
    page=50,
)
TIME_SERIES = Listing(
    answer=f"{V1}.ListTensorboardTimeSeriesResponse",
    items="tensorboard_time_series",
    fields={
        **_FIELDS,
        "plugin_name": listing.Field(value=lambda record: record.message.plugin_name),
    },
    orders=_ORDERS,
    page=50,
)
