"""The overview of all that exists on the emulator."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.pages.page import Fragment, Page, Part, Rows
from pulumi_vertex_training.ui.source import comparison
from pulumi_vertex_training.ui.source.inventory import Inventory, ResourceRow
from pulumi_vertex_training.ui.source.live_inventory import LiveInventory

_INVENTORY = LiveInventory()


def _read(endpoint: Endpoint, _parameters: Mapping[str, str]) -> Inventory:
    return _INVENTORY.read(endpoint)


def _parts(model: Inventory) -> Mapping[str, Part]:
    inner = sum(1 for job in model.jobs if job.inside)
    return {
        "counts": Fragment(
            template="overview/counts.html",
            values={"counts": model.counts, "inner": inner, "endpoint": model.endpoint},
        ),
        "jobs": Rows(template="overview/job.html", items=[(f"job/{job.key}", job) for job in model.jobs]),
        "persistent-resources": _resources("resource", model.persistent_resources),
        "buckets": _resources("bucket", model.buckets),
        "images": _resources("image", model.images),
    }


def _resources(kind: str, rows: tuple[ResourceRow, ...]) -> Rows:
    return Rows(template="overview/resource.html", items=[(f"{kind}/{row.key}", row) for row in rows])


OVERVIEW = Page(
    name="overview",
    path="/",
    template="overview/page.html",
    title=lambda _model: "Overview",
    read=_read,
    parts=_parts,
    fixed=lambda _model, _parameters: {"most_compared": comparison.MOST},
    version=emulator_api.changes,
    label="Overview",
)
