"""The live page with the first resources of each kind, and the view of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.pages.page import Fragment, MissingError, Page, Part, Rows
from pulumi_vertex_training.ui.pages.view import Query, View
from pulumi_vertex_training.ui.source import resources
from pulumi_vertex_training.ui.source.resources import KINDS, Kind, Listed, Resources

PATH = "/resources"


@dataclass(frozen=True, kw_only=True)
class ListView:
    """A later page of the resources of one kind."""

    kind: Kind
    listed: Listed


def _parts(model: Resources) -> Mapping[str, Part]:
    rows: dict[str, Part] = {
        kind.path: Rows(
            template="resources/row.html", items=[(row.key, row) for row in model.lists[kind.path].rows]
        )
        for kind in KINDS
    }
    notes: dict[str, Part] = {
        f"{kind.path}-note": Fragment(
            template="resources/note.html", values={"kind": kind, "listed": model.lists[kind.path]}
        )
        for kind in KINDS
    }
    return {**rows, **notes}


def _list(endpoint: Endpoint, query: Query) -> ListView:
    kind = next((one for one in KINDS if one.path == query.one("kind")), None)
    if kind is None:
        raise MissingError("This is not the address of a list. The page Resources has the lists.")
    return ListView(kind=kind, listed=resources.page(endpoint, kind, query.one("page")))


RESOURCES = Page(
    name="resources",
    path=PATH,
    template="resources/page.html",
    title=lambda _model: "Resources",
    read=lambda endpoint, _parameters: resources.read(endpoint),
    parts=_parts,
    fixed=lambda _model, _parameters: {"kinds": KINDS},
    is_over=lambda _model: True,  # four lists: every few seconds are enough
    label="Resources",
)
RESOURCE_LIST = View(
    path=f"{PATH}/list",
    template="resources/list.html",
    title=lambda model: model.kind.title,
    read=_list,
)
