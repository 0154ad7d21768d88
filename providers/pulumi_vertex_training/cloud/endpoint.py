"""Where the calls of a resource go: Google Cloud or the emulator, in which project and location."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

EndpointKind = Literal["google", "emulator"]

STORAGE_URL = "https://storage.googleapis.com"
_LOGGING_HOST = "logging.googleapis.com"
_ARTIFACT_REGISTRY_HOST = "artifactregistry.googleapis.com"
UNKNOWN_TYPES_HEADER = "X-Vertex-Training-Allow-Unknown-Types"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An address to call, with what is needed to be let in.

    `url` is required for the emulator; for Google it replaces the region's own host name, for example by one
    of Private Service Connect. `token` is the emulator's full token; for Google an access token to use
    instead of Application Default Credentials. `storage_url` is, for the emulator, the address for clients
    that send no credentials, which nothing here uses; for Google it replaces storage.googleapis.com.
    `addresses` are pairs of a host of Google's other services and the URL that replaces it.
    `allow_unknown_types` lets the emulator take machine types that it does not know; Google is told nothing.

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

    def __post_init__(self) -> None:
        if self.kind == "emulator" and not (self.url and self.token):
            raise ValueError("an Endpoint of kind 'emulator' needs the emulator's url and token")
        # JSON makes lists of tuples, and an endpoint is a key of caches.
        object.__setattr__(self, "addresses", tuple((host, url) for host, url in self.addresses))

    @property
    def is_emulator(self) -> bool:
        return self.kind == "emulator"

    @property
    def headers(self) -> Mapping[str, str]:
        """What every request carries besides its credentials."""
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
        """The address of Cloud Storage for calls that carry credentials, as all of ours do."""
        url = self.url if self.is_emulator else self.storage_url
        return (url or STORAGE_URL).rstrip("/")

    @property
    def logging_url(self) -> str:
        """The address of Cloud Logging."""
        return self.vertex_url if self.is_emulator else self.address_of(_LOGGING_HOST)

    @property
    def artifact_registry_url(self) -> str:
        """The address of Artifact Registry's API; images are pushed to and pulled from other hosts."""
        return self.vertex_url if self.is_emulator else self.address_of(_ARTIFACT_REGISTRY_HOST)

    def address_of(self, host: str) -> str:
        """Return the URL of one of Google's hosts or of a registry, without a trailing slash."""
        return dict(self.addresses).get(host, f"https://{host}")

    def __str__(self) -> str:
        where = f"emulator at {self.vertex_url}" if self.is_emulator else "Google Cloud"
        return f"project {self.project}, {self.location}, {where}"
