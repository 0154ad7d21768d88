"""The error responses of a registry, in the form of the OCI distribution specification ("Error Codes")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_emulator.server.http.messages import HttpError

_CODES: Mapping[int, str] = {
    400: "UNSUPPORTED",
    401: "UNAUTHORIZED",
    403: "DENIED",
    404: "NAME_UNKNOWN",
    405: "UNSUPPORTED",
    413: "SIZE_INVALID",
    415: "MANIFEST_INVALID",
    429: "TOOMANYREQUESTS",
}


class RegistryError(HttpError):
    """An error with the specification's `code`, such as "MANIFEST_UNKNOWN".

    `detail` is any JSON value that describes the case.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        detail: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, code, message, headers=headers)
        self.detail = detail

    def envelope(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"code": self.reason, "message": self.message}
        if self.detail is not None:
            entry["detail"] = self.detail
        return {"errors": [entry]}


def as_registry_error(error: HttpError) -> RegistryError:
    """Convert an error of the HTTP server to the registry's form."""
    if isinstance(error, RegistryError):
        return error
    return RegistryError(
        error.status, _CODES.get(error.status, "UNKNOWN"), error.message, headers=error.headers
    )


def name_invalid(name: str) -> RegistryError:
    """Return the error for an invalid repository name."""
    return RegistryError(
        400,
        "NAME_INVALID",
        f"{name[:300]!r} is not a valid repository name. Use lowercase letters and digits, joined by '.', "
        "'_', '__' or dashes, in components separated by '/'.",
    )


def name_unknown(name: str, why: str) -> RegistryError:
    """Return the error for an unknown repository."""
    return RegistryError(404, "NAME_UNKNOWN", why, detail={"name": name})


def blob_unknown(name: str, digest: str) -> RegistryError:
    """Return the error for a missing blob."""
    return RegistryError(
        404, "BLOB_UNKNOWN", f"The repository {name} has no blob {digest}.", detail={"digest": digest}
    )


def manifest_unknown(name: str, reference: str) -> RegistryError:
    """Return the error for a missing manifest."""
    return RegistryError(
        404,
        "MANIFEST_UNKNOWN",
        f"The repository {name} has no manifest {reference}. Push it first.",
        detail={"name": name, "reference": reference},
    )


def manifest_invalid(why: str, *, status: int = 400) -> RegistryError:
    """Return the error for an invalid manifest."""
    return RegistryError(status, "MANIFEST_INVALID", why)


def digest_invalid(why: str) -> RegistryError:
    """Return the error for an invalid or wrong digest."""
    return RegistryError(400, "DIGEST_INVALID", why)


def upload_unknown() -> RegistryError:
    """Return the error for an unknown upload."""
    return RegistryError(
        404, "BLOB_UPLOAD_UNKNOWN", "The upload was cancelled or is finished. Start a new upload."
    )


def upload_invalid(why: str, *, status: int = 400, headers: Mapping[str, str] | None = None) -> RegistryError:
    """Return the error for an invalid request to an upload."""
    return RegistryError(status, "BLOB_UPLOAD_INVALID", why, headers=headers)
