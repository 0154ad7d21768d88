"""Google's hosts that the emulator does not have: refused by name, except for those that the user allows."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

from vertex_emulator.kernel.database import Database
from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.server.proxy.hosts import is_api, is_emulated

_SCHEMA = ("CREATE TABLE allowed_hosts (host TEXT PRIMARY KEY);",)
_PATH = "/_local/allowed-hosts"


class AllowedHosts:
    """The hosts that the proxy connects to although they are Google's. Safe for threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        database.migrate("allowed_hosts", _SCHEMA)
        self._hosts = frozenset(row["host"] for row in database.rows("SELECT host FROM allowed_hosts"))

    def is_refused(self, host: str) -> bool:
        """Return whether a host is an API of Google that the emulator lacks and the user does not allow."""
        return is_api(host) and not is_emulated(host) and host not in self._hosts

    def clear(self) -> None:
        """Refuse all again."""
        with self._lock:
            self._database.execute("DELETE FROM allowed_hosts")
            self._hosts = frozenset()

    def routes(self) -> Sequence[Route]:
        """Return GET all, POST one, and DELETE all."""
        return (
            Route("GET", _PATH, lambda _request, _match: self._listed()),
            Route("POST", _PATH, self._add),
            Route("DELETE", _PATH, self._remove),
        )

    def _listed(self) -> Response:
        return json_response({"hosts": sorted(self._hosts)})

    def _add(self, request: Request, _: re.Match[str]) -> Response:
        host = str(body_of(request, "host").get("host", "")).lower().rstrip(".")
        if not is_api(host) or is_emulated(host):
            why = "the emulator has it" if is_emulated(host) else "the proxy connects to other hosts anyway"
            raise HttpError(
                400, "", f"{host!r} cannot be allowed: {why}. Name a host such as pubsub.googleapis.com."
            )
        with self._lock:
            self._database.execute("INSERT OR IGNORE INTO allowed_hosts VALUES (?)", (host,))
            self._hosts |= {host}
        return self._listed()

    def _remove(self, _request: Request, _match: re.Match[str]) -> Response:
        self.clear()
        return self._listed()


def refusal(host: str) -> str | None:
    """Return the message for a host that the emulator does not have, or None for the others."""
    if is_emulated(host):
        return None
    return (
        f"The emulator does not have {host}, and keeps its token from Google. To use the host of Google "
        f"itself, with your own credentials: vertex-emulator allow-host {host}"
    )
