# The classes bear the names of google.rpc.Code, as in Google's libraries.  # ruff: noqa: N818
"""The exceptions of this package, translated from those of Google's libraries.

::

    CloudError
    ├── NotFound            the service itself says that the resource does not exist; nothing else is "gone"
    ├── AlreadyExists       the name is taken
    ├── PermissionDenied    known, but not allowed
    ├── Unauthenticated     no credentials, or ones that are no longer accepted
    ├── InvalidArgument     the request is wrong, whatever the state of the resource; `violations` by field
    ├── FailedPrecondition  the request is right, the state of the resource is not
    │   └── Conflict        somebody else changed the resource at the same time
    ├── ResourceExhausted   a quota or a rate limit
    ├── Unimplemented       this endpoint does not have the call or the field
    ├── Unavailable         no answer, or one that says "later"; the request may have been carried out
    │   └── DeadlineExceeded
    ├── Internal            the service failed
    │   └── DataLoss        what arrived is not what was sent
    └── UnexpectedAnswer    something answered that is not the API: a proxy, a login page, a wrong address

Only a NotFound removes a resource from Pulumi's state. A 404 is one only when it comes in the API's own
error envelope; every other 404 is an UnexpectedAnswer.
"""

from __future__ import annotations

from pulumi_vertex_training.cloud.endpoint import Endpoint


class CloudError(Exception):
    """A call that failed. The message names project, location, resource and the next step.

    `code` is the HTTP status, None where there was no answer. `reason` is the canonical status, such as
    "NOT_FOUND", where it is known. `violations` are pairs of a field's path and what is wrong with it.
    """

    reason_of_class = "UNKNOWN"

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        reason: str | None = None,
        resource: str = "",
        endpoint: Endpoint | None = None,
        violations: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason or self.reason_of_class
        self.resource = resource
        self.endpoint = endpoint
        self.violations = violations


class NotFound(CloudError):
    reason_of_class = "NOT_FOUND"


class AlreadyExists(CloudError):
    reason_of_class = "ALREADY_EXISTS"


class PermissionDenied(CloudError):
    reason_of_class = "PERMISSION_DENIED"


class Unauthenticated(CloudError):
    reason_of_class = "UNAUTHENTICATED"


class InvalidArgument(CloudError):
    reason_of_class = "INVALID_ARGUMENT"


class FailedPrecondition(CloudError):
    reason_of_class = "FAILED_PRECONDITION"


class Conflict(FailedPrecondition):
    reason_of_class = "ABORTED"


class ResourceExhausted(CloudError):
    reason_of_class = "RESOURCE_EXHAUSTED"


class Unimplemented(CloudError):
    reason_of_class = "UNIMPLEMENTED"


class Unavailable(CloudError):
    reason_of_class = "UNAVAILABLE"


class DeadlineExceeded(Unavailable):
    reason_of_class = "DEADLINE_EXCEEDED"


class Internal(CloudError):
    reason_of_class = "INTERNAL"


class DataLoss(Internal):
    reason_of_class = "DATA_LOSS"


class UnexpectedAnswer(CloudError):
    reason_of_class = "UNEXPECTED_ANSWER"
