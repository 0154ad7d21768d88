"""The error answers of a registry, in the form of the OCI distribution specification ("Error Codes")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_emulator.http.messages import HttpError

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
    """`code` is the specification's, such as "MANIFEST_UNKNOWN"; `detail` any JSON value about the case."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        detail: Any = None,
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
    """An error that was found before the registry was asked, in the registry's form."""
    if isinstance(error, RegistryError):
        return error
    return RegistryError(
        error.status, _CODES.get(error.status, "UNKNOWN"), error.message, headers=error.headers
    )


def name_invalid(name: str) -> RegistryError:
    return RegistryError(
        400,
        "NAME_INVALID",
        f"{name[:300]!r} is not the name of a repository. It is made of lower-case letters and digits, "
        "joined by '.', '_', '__' or dashes, in components separated by '/'.",
    )


def name_unknown(name: str, why: str) -> RegistryError:
    return RegistryError(404, "NAME_UNKNOWN", why, detail={"name": name})


def blob_unknown(name: str, digest: str) -> RegistryError:
    return RegistryError(
        404, "BLOB_UNKNOWN", f"The repository {name} has no blob {digest}.", detail={"digest": digest}
    )


def manifest_unknown(name: str, reference: str) -> RegistryError:
    return RegistryError(
        404,
        "MANIFEST_UNKNOWN",
        f"The repository {name} has no manifest {reference}. Push it first.",
        detail={"name": name, "reference": reference},
    )


def manifest_invalid(why: str, *, status: int = 400) -> RegistryError:
    return RegistryError(status, "MANIFEST_INVALID", why)


def digest_invalid(why: str) -> RegistryError:
    return RegistryError(400, "DIGEST_INVALID", why)


def upload_unknown() -> RegistryError:
    return RegistryError(
        404, "BLOB_UPLOAD_UNKNOWN", "There is no such upload: it was cancelled, or is over. Begin anew."
    )


def upload_invalid(why: str, *, status: int = 400, headers: Mapping[str, str] | None = None) -> RegistryError:
    return RegistryError(status, "BLOB_UPLOAD_INVALID", why, headers=headers)
