"""The errors of Cloud Storage, in its own format: one entry of `errors` with a reason.

Messages about buckets, objects and preconditions are the service's; others are the emulator's.
"""

from __future__ import annotations

from typing import Any

from vertex_emulator.server.http.messages import NOT_SUPPORTED, HttpError

_REASONS = {
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "conflict",
    429: "rateLimitExceeded",
    500: "internalError",
    503: "backendError",
    504: "gatewayTimeout",
}
"""Cloud Storage documentation, "HTTP status and error codes for JSON"."""


class StorageError(HttpError):
    """An error of the JSON API. `reason` is Cloud Storage's, such as "notFound" or "conditionNotMet"."""

    def __init__(self, status: int, reason: str, message: str, *, location: str | None = None) -> None:
        super().__init__(status, reason, message)
        self.location = location

    def envelope(self) -> dict[str, Any]:
        entry = {"message": self.message, "domain": "global", "reason": self.reason}
        if self.location is not None:
            entry |= {"locationType": "parameter", "location": self.location}
        return {"error": {"code": self.status, "message": self.message, "errors": [entry]}}


def as_storage_error(error: HttpError) -> HttpError:
    """Convert the error of an injected fault to Cloud Storage's format."""
    reason = _REASONS.get(error.status)
    if isinstance(error, StorageError) or reason is None:
        return error
    converted = StorageError(error.status, reason, error.message)
    converted.headers.update(error.headers)
    return converted


def invalid(message: str, *, location: str | None = None) -> StorageError:
    """Return the error for an invalid value. `location` is the query parameter that has it."""
    return StorageError(400, "invalid", message, location=location)


def required(parameter: str) -> StorageError:
    """Return the error for a missing parameter."""
    return StorageError(400, "required", f"Required parameter: {parameter}", location=parameter)


def unsupported(what: str, remedy: str) -> StorageError:
    """Return the error for an unsupported field, parameter or call, which `what` names."""
    return StorageError(NOT_SUPPORTED, "notImplemented", f"The emulator does not support {what}. {remedy}")


def no_bucket() -> StorageError:
    """Return the error for a bucket that does not exist."""
    return StorageError(404, "notFound", "The specified bucket does not exist.")


def no_object(bucket: str, name: str) -> StorageError:
    """Return the error for an object that does not exist."""
    return StorageError(404, "notFound", f"No such object: {bucket}/{name}")


def public_access_prevented(what: str) -> StorageError:
    """Return the error for access of everybody to a bucket that prevents it, which `what` names."""
    return StorageError(
        412,
        "conditionNotMet",
        "The member bindings allUsers and allAuthenticatedUsers are not allowed since public access "
        f"prevention is enforced. {what}",
    )


def condition_not_met() -> StorageError:
    """Return the error for a failed precondition."""
    return StorageError(
        412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold."
    )
