"""Credentials that are one token: the emulator's, or an access token of the user.

Imports google.auth, so import it only when needed.
"""

from __future__ import annotations

from typing import Any

from google.auth.credentials import Credentials


class BearerToken(Credentials):
    """Credentials that send `Authorization: Bearer <token>` with every request, also over plain HTTP.

    Google's own token credentials try to refresh after a 401 and then report that they cannot. Here, a 401
    stays a 401.
    """

    def __init__(self, token: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.token = token

    @property
    def expired(self) -> bool:
        return False

    @property
    def valid(self) -> bool:
        return True

    def refresh(self, request: Any) -> None:
        """Do nothing: the token has no expiry and no source."""
