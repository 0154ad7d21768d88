# The classes bear the names of google.rpc.Code, as in Google's libraries.  # ruff: noqa: N818
"""The exceptions of this package, translated from those of Google's libraries.

::

    CloudError
    ├── NotFound            the service itself reports that the resource does not exist
    ├── AlreadyExists       the name is taken
    ├── PermissionDenied    the caller is known but not allowed
    ├── Unauthenticated     missing credentials, or no longer accepted ones
    ├── InvalidArgument     the request is wrong, whatever the state of the resource; `violations` by field
    ├── FailedPrecondition  the request is right, the state of the resource is not
    │   └── Conflict        another caller changed the resource at the same time
    ├── ResourceExhausted   a quota or a rate limit
    ├── Unimplemented       this endpoint does not support the call or the field
    ├── Unavailable         no answer, or one that says "later"; the request may have been carried out
    │   └── DeadlineExceeded
    ├── Internal            the service failed
    │   └── DataLoss        the received data differ from the data that were sent
    └── UnexpectedAnswer    the answer is not the API's: a proxy, a login page, a wrong address

Only a NotFound removes a resource from Pulumi's state. A 404 counts as one only in the API's own error
envelope; every other 404 is an UnexpectedAnswer.
"""

from __future__ import annotations

from pulumi_vertex_training.cloud.endpoint import Endpoint
from vertex_training.findings.words import visible_lines


class CloudError(Exception):
    """A failed call. The message names project, location, resource and the next step.

    `code` is the HTTP status, or None without an answer. `reason` is the canonical status, such as
    "NOT_FOUND", if known. `violations` are pairs of a field's path and its problem. `own_words` is the
    service's part of the message, without what was tried and without the next step.
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
        own_words: str = "",
    ) -> None:
        super().__init__(visible_lines(message))
        self.code = code
        self.reason = reason or self.reason_of_class
        self.resource = resource
        self.endpoint = endpoint
        self.violations = violations
        self.own_words = visible_lines(own_words or message)


class NotFound(CloudError):
    """The service itself reports that the resource does not exist."""

    reason_of_class = "NOT_FOUND"


class AlreadyExists(CloudError):
    """The name is taken."""

    reason_of_class = "ALREADY_EXISTS"


class PermissionDenied(CloudError):
    """The caller is known but not allowed."""

    reason_of_class = "PERMISSION_DENIED"


class Unauthenticated(CloudError):
    """The credentials are missing or no longer accepted."""

    reason_of_class = "UNAUTHENTICATED"


class InvalidArgument(CloudError):
    """The request is wrong in any state of the resource."""

    reason_of_class = "INVALID_ARGUMENT"


class FailedPrecondition(CloudError):
    """The request does not fit the state of the resource."""

    reason_of_class = "FAILED_PRECONDITION"


class Conflict(FailedPrecondition):
    """Another caller changed the resource at the same time."""

    reason_of_class = "ABORTED"


class ResourceExhausted(CloudError):
    """A quota or rate limit is exceeded."""

    reason_of_class = "RESOURCE_EXHAUSTED"


class Unimplemented(CloudError):
    """This endpoint does not support the call or the field."""

    reason_of_class = "UNIMPLEMENTED"


class Unavailable(CloudError):
    """The service did not answer, or asked to try later; the request may have been carried out."""

    reason_of_class = "UNAVAILABLE"


class DeadlineExceeded(Unavailable):
    """The service did not answer in time."""

    reason_of_class = "DEADLINE_EXCEEDED"


class Internal(CloudError):
    """The service failed."""

    reason_of_class = "INTERNAL"


class DataLoss(Internal):
    """The received data differ from the data that were sent."""

    reason_of_class = "DATA_LOSS"


class UnexpectedAnswer(CloudError):
    """The answer does not come from the API, but from a proxy, a login page or a wrong address."""

    reason_of_class = "UNEXPECTED_ANSWER"
