"""The projects that the emulator knows, and the search in them.

Every project exists. Known are those with a resource, an account or a service that somebody has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.permissions.denials import Grants
from vertex_emulator.server.rpc import filters
from vertex_emulator.server.rpc.filters import Comparison
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.server.rpc.paging import Page, Sizes, Wanted

_GET = "resourcemanager.projects.get"
SIZES = Sizes(default=100, most=500)
_ID = re.compile(r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]*")
_WITH_PROJECT = (
    "SELECT found.name AS name FROM sqlite_master AS found, pragma_table_info(found.name) AS field "
    "WHERE found.type = 'table' AND field.name = 'project' ORDER BY found.name"
)
_FIELDS = {
    "id": "id",
    "projectid": "id",
    "name": "name",
    "displayname": "name",
    "projectnumber": "number",
    "state": "state",
    "lifecyclestate": "state",
}
"""The fields of filters (v1) and queries (v3) that every project has, in lower case."""
_UNSET = re.compile(r"(?:labels|parent)(?:\..+)?")
"""The fields that no project of the emulator has."""


@dataclass(frozen=True, kw_only=True)
class Projects:
    """The projects of one emulator. `accounts` returns the projects of changed service accounts."""

    database: Database
    grants: Grants
    accounts: Callable[[], Iterable[str]]

    def known(self) -> list[str]:
        """Return the ids of the known projects in order."""
        tables = [row["name"] for row in self.database.rows(_WITH_PROJECT)]
        union = " UNION ".join(f"SELECT project FROM {table}" for table in tables)  # noqa: S608 - names of ours
        rows = self.database.rows(union) if tables else []
        found = {*(str(row["project"]) for row in rows), *self.accounts()}
        return sorted(each for each in found if _ID.fullmatch(each))

    def named(self, asked: str) -> str:
        """Return the id of the project with this id or number. Raises `RpcError` for an unknown number."""
        project = asked
        if asked.isascii() and asked.isdigit():
            project = next((each for each in self.known() if project_number(each) == asked), "")
        if not project or "/" in asked:
            raise RpcError(
                "PERMISSION_DENIED", f"The caller does not have permission, or there is no project {asked}."
            )
        return project

    def search(self, query: str, wanted: Wanted) -> Page:
        """Return the ids of the known projects that match and that the caller may get.

        Raises `RpcError` INVALID_ARGUMENT for an invalid query or page.
        """
        expression = _parsed(query)
        found = [
            each
            for each in self.known()
            if filters.matches(expression, partial(_matches, each))
            and self.grants.granted([_GET], f"projects/{each}")
        ]
        return wanted.page(found, query=query)


def _parsed(query: str) -> filters.Expression:
    try:
        return filters.mapped(filters.parse(query), _checked)
    except filters.FilterError as error:
        raise RpcError("INVALID_ARGUMENT", f"The query {query[:200]!r} is not valid: {error}.") from None


def _checked(test: Comparison) -> Comparison:
    """Return a comparison. Raises `FilterError` for an unknown field or operator."""
    field = test.field.lower()
    if field not in _FIELDS and not _UNSET.fullmatch(field):
        known = "projectId, displayName, projectNumber, state, parent or labels"
        raise filters.FilterError(f"a project has no field {test.field!r}; use {known}")
    if test.operator not in (":", "=", "!="):
        raise filters.FilterError(f"{test.field} cannot be compared with {test.operator}; use : or =")
    return test


def _matches(project: str, test: Comparison) -> bool:
    """Return whether a project matches, regardless of case. `*` in a value stands for any characters."""
    values = {"id": project, "name": project, "number": project_number(project), "state": "active"}
    value = values.get(_FIELDS.get(test.field.lower(), ""))
    wanted = re.sub(r"[\[?]", r"[\g<0>]", test.value.lower())
    return (value is not None and fnmatchcase(value, wanted)) == (test.operator != "!=")
