"""Credentials that are one token: the emulator's, or an access token of the user.

Imports google.auth, so import it only when needed.
"""

from __future__ import annotations

from collections.abc import Callable

from google.auth.credentials import Credentials


class BearerToken(Credentials):
    """Credentials that send `Authorization: Bearer <token>` with every request, also over plain HTTP.

    Google's own token credentials try to refresh after a 401 and then report that they cannot. Here, a 401
    stays a 401, unless `renewed` returns another token.
    """

    def __init__(self, token: str, *, renewed: Callable[[], str | None] = lambda: None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.token = token
        self._renewed = renewed

    @property
    def expired(self) -> bool:
        return False

    @property
    def valid(self) -> bool:
        return True

    def refresh(self, _request: object) -> None:
        """Take another token if there is one. google.auth calls this after a 401 and repeats the request."""
        self.token = self._renewed() or self.token
