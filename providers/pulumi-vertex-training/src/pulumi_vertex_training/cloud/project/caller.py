"""The account of the calls."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.cloud import clients, imports
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The account of the calls. `email` is None for a person, whose credentials do not name it."""

    email: str | None = None

    @property
    def member(self) -> str:
        """The account as IAM names it, for a shell."""
        return f"serviceAccount:{self.email}" if self.email else 'user:"$(gcloud config get-value account)"'


def caller(endpoint: Endpoint) -> Caller:
    """Return the account of the credentials after they were renewed. Raises Unauthenticated, Unavailable."""
    with translated(endpoint, "get credentials"):
        imports.load_transport()
        from google.auth.transport.requests import Request

        found = clients.credentials(endpoint)
        if not found.valid:
            found.refresh(Request())
        email = getattr(found, "service_account_email", None)
    return Caller(email=email if isinstance(email, str) and "@" in email else None)
