"""The services that are enabled in each project.

The services that the emulator has are enabled, all others are disabled, until somebody changes it: in one
project, as by Google's API, or in every project without a setting of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number

_SCHEMA = (
    """
    CREATE TABLE service_states (
        project TEXT NOT NULL,
        project_number TEXT NOT NULL,
        service TEXT NOT NULL,
        enabled INTEGER NOT NULL,
        PRIMARY KEY (project_number, service)
    );
    """,
)
DOMAIN = ".googleapis.com"
HERE = tuple(
    f"{name}{DOMAIN}"
    for name in (
        "aiplatform",
        "artifactregistry",
        "cloudquotas",
        "cloudresourcemanager",
        "cloudscheduler",
        "compute",
        "iam",
        "iamcredentials",
        "logging",
        "monitoring",
        "secretmanager",
        "serviceusage",
        "storage",
    )
)
"""The services of the emulator, and those that they need on Google Cloud."""

EVERYWHERE = ""


@dataclass(frozen=True, kw_only=True)
class ServiceState:
    """A setting. `project` is as it was given, or `EVERYWHERE`."""

    service: str
    project: str
    enabled: bool


class ServiceStates:
    """The settings of all projects. Safe for threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        database.migrate("service_states", _SCHEMA)
        rows = database.rows("SELECT * FROM service_states ORDER BY rowid")
        self._states = {
            (row["project_number"], row["service"]): ServiceState(
                service=row["service"], project=row["project"], enabled=bool(row["enabled"])
            )
            for row in rows
        }

    def is_enabled(self, service: str, project: str | None) -> bool:
        """Return whether a service is enabled in a project, or in some project if that is unknown."""
        if not self._states:  # the usual case, asked at each call
            return service in HERE
        with self._lock:
            own = self._states.get((project_number(project), service)) if project else None
            found = own or self._states.get((EVERYWHERE, service))
            somewhere = () if project else [each for each in self._states.values() if each.service == service]
        is_enabled = service in HERE if found is None else found.enabled
        return is_enabled or any(each.enabled for each in somewhere)

    def set(self, service: str, *, enabled: bool, project: str = EVERYWHERE) -> None:
        """Enable or disable a service. A setting for every project replaces single ones'."""
        number = project_number(project) if project else EVERYWHERE
        with self._lock:
            with self._database.transaction() as connection:
                if not project:
                    connection.execute("DELETE FROM service_states WHERE service = ?", (service,))
                connection.execute(
                    "INSERT INTO service_states VALUES (?, ?, ?, ?) ON CONFLICT (project_number, service) "
                    "DO UPDATE SET project = excluded.project, enabled = excluded.enabled",
                    (project, number, service, enabled),
                )
            kept = {key: each for key, each in self._states.items() if project or key[1] != service}
            state = ServiceState(service=service, project=project, enabled=enabled)
            self._states = {**kept, (number, service): state}

    def all(self) -> Sequence[ServiceState]:
        """Return the settings that differ from the default or from every project's."""
        with self._lock:
            return [
                each
                for each in self._states.values()
                if each.project or each.enabled != (each.service in HERE)
            ]

    def names(self) -> list[str]:
        """Return the services that are known: the emulator's and those with a setting."""
        with self._lock:
            return sorted({*HERE, *(service for _, service in self._states)})

    def clear(self) -> None:
        """Remove all settings."""
        with self._lock:
            self._database.execute("DELETE FROM service_states")
            self._states = {}
