"""The target of a resource's calls: Google Cloud or the emulator, project and location."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pulumi_vertex_training.timeouts import ORDINARY, Timeouts
from vertex_training.fields.resource_names import part_after

EndpointKind = Literal["google", "emulator"]

EMULATOR_PROJECT = "local"
EMULATOR_LOCATION = "us-central1"
"""The project and region of the emulator for a command or stack that gives none."""

STORAGE_URL = "https://storage.googleapis.com"
_LOGGING_HOST = "logging.googleapis.com"
_ARTIFACT_REGISTRY_HOST = "artifactregistry.googleapis.com"
NO_PROJECT = "-"
"""The project of an endpoint whose calls are about no project."""

UNKNOWN_TYPES_HEADER = "X-Vertex-Training-Allow-Unknown-Types"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """The address of the services, with the credentials that it needs.

    `url` is required for the emulator. For Google, it replaces the region's host name, for example by one of
    Private Service Connect. `token` is the emulator's token or, for Google, an access token to use instead of
    Application Default Credentials. `storage_url` replaces storage.googleapis.com for Google; for the
    emulator it is the address for clients without credentials, which is not used here. `addresses` are pairs
    of a host of Google's other services and the URL that replaces it. `allow_unknown_types` makes the
    emulator accept unknown machine types; it has no effect on Google. `data_dir` is the emulator's data
    folder, which has the new token after the emulator was started again, or None if it is unknown. `timeouts`
    are this process's, or longer ones for a slower emulator.

    Raises ValueError for an emulator without `url` or `token`.
    """

    kind: EndpointKind
    project: str
    location: str
    url: str | None = None
    token: str | None = field(default=None, repr=False)
    storage_url: str | None = field(default=None, repr=False)
    addresses: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    allow_unknown_types: bool = False
    data_dir: str | None = None
    timeouts: Timeouts = field(default=ORDINARY, repr=False)

    def __post_init__(self) -> None:
        if self.kind == "emulator" and not (self.url and self.token):
            raise ValueError("an Endpoint of kind 'emulator' needs the emulator's url and token")
        # An endpoint is a key of caches, so lists from JSON become tuples again.
        object.__setattr__(self, "addresses", tuple((host, url) for host, url in self.addresses))

    def of(self, name: str) -> Endpoint:
        """Return the endpoint of the location that a full name has: a job can be elsewhere than declared."""
        return self.at(part_after(name, "locations") or self.location)

    def at(self, location: str) -> Endpoint:
        """Return the endpoint of another location."""
        return self if location == self.location else dataclasses.replace(self, location=location)

    @property
    def polled(self) -> Endpoint:
        """The endpoint for calls that are repeated anyway: none retries past the end of a wait."""
        most, timeouts = self.timeouts.least_answer, self.timeouts
        shorter = dataclasses.replace(
            timeouts,
            retry_emulator=min(timeouts.retry_emulator, most),
            retry_google=min(timeouts.retry_google, most),
        )
        return dataclasses.replace(self, timeouts=shorter)

    @property
    def is_emulator(self) -> bool:
        return self.kind == "emulator"

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of every request besides its credentials."""
        return {UNKNOWN_TYPES_HEADER: "true"} if self.is_emulator and self.allow_unknown_types else {}

    @property
    def parent(self) -> str:
        """The parent of the location's resources, `projects/P/locations/L`."""
        return f"projects/{self.project}/locations/{self.location}"

    @property
    def vertex_url(self) -> str:
        """The address of Vertex AI, without a trailing slash."""
        return (self.url or f"https://{self.location}-aiplatform.googleapis.com").rstrip("/")

    @property
    def storage_api_url(self) -> str:
        """The address of Cloud Storage for calls with credentials, as all of this package have."""
        url = self.url if self.is_emulator else self.storage_url
        return (url or STORAGE_URL).rstrip("/")

    @property
    def logging_url(self) -> str:
        """The address of Cloud Logging."""
        return self.service_url(_LOGGING_HOST)

    @property
    def artifact_registry_url(self) -> str:
        """The address of Artifact Registry's API; images themselves are at other hosts."""
        return self.service_url(_ARTIFACT_REGISTRY_HOST)

    def service_url(self, host: str) -> str:
        """Return the address of a service by its host at Google; the emulator has all services at one."""
        return self.vertex_url if self.is_emulator else self.address_of(host)

    def address_of(self, host: str) -> str:
        """Return the URL of a Google host or of a registry, without a trailing slash."""
        return dict(self.addresses).get(host, f"https://{host}")

    def __str__(self) -> str:
        if self.project == NO_PROJECT:
            return "Google Cloud"
        where = f"emulator at {self.vertex_url}" if self.is_emulator else "Google Cloud"
        return f"project {self.project}, {self.location}, {where}"
