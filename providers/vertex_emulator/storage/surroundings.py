"""What clients ask about buckets and projects beside the resources themselves."""

from __future__ import annotations

import re

from vertex_emulator.http.messages import Request, Response
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.storage.disk.catalog import Catalog
from vertex_emulator.storage.fields import parameters
from vertex_emulator.storage.fields.bucket import location_type
from vertex_emulator.storage.fields.partial import answer
from vertex_emulator.storage.names import decode


class Surroundings:
    """Handlers; group 1 of the match is the name of the bucket or project, percent-encoded."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def layout(self, request: Request, match: re.Match[str]) -> Response:
        """Where a bucket is, and that it has no folders of its own ("Buckets: getStorageLayout")."""
        parameters.check(request, frozenset({"prefix"}))
        bucket = self._catalog.store.bucket(decode(match[1]))
        location = bucket.settings["location"]
        return answer(
            request,
            {
                "kind": "storage#storageLayout",
                "bucket": bucket.name,
                "location": location,
                "locationType": location_type(bucket.settings),
                "hierarchicalNamespace": {"enabled": False},
            },
        )

    def notifications(self, request: Request, match: re.Match[str]) -> Response:
        """None: there is no Pub/Sub here ("Notifications: list")."""
        parameters.check(request, frozenset())
        self._catalog.store.bucket(decode(match[1]))
        return answer(request, {"kind": "storage#notifications"})

    def managed_folders(self, request: Request, match: re.Match[str]) -> Response:
        """None: nobody makes one here ("ManagedFolders: list")."""
        parameters.check(request, frozenset({"maxResults", "pageSize", "pageToken", "prefix"}))
        self._catalog.store.bucket(decode(match[1]))
        return answer(request, {"kind": "storage#managedFolders"})

    def service_account(self, request: Request, match: re.Match[str]) -> Response:
        """The project's service agent ("Projects: serviceAccount.get")."""
        parameters.check(request, frozenset())
        number = project_number(decode(match[1]))
        address = f"service-{number}@gs-project-accounts.iam.gserviceaccount.com"
        return answer(request, {"kind": "storage#serviceAccount", "email_address": address})
