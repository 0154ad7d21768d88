"""Access to the dashboard: for the user's own browser, with the token of this start, and for no web page.

The address that the command prints has the token; the answer puts it into a cookie and removes it from the
address. Every request needs it, except for the style sheet and the script, which have no secrets.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ASSETS = "/assets/"
ACTIONS = "/actions/"
"""Addresses of requests that change something. They need POST, an origin, and a token of the page."""

TOKEN = "token"  # noqa: S105 - the name of a parameter
ONCE = "once"

KNOWN = "vertex_training.known"
"""The key of a scope whose request has shown the token. Only such a request gets the token of a page."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types dashboard",
    )
)
"""The Content-Security-Policy: nothing from another address, and no code or style within a page."""

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""The headers of every answer. An answer is kept in no cache unless it says so itself."""

_METHODS = ("GET", "HEAD")
_OWN_SITES = ("same-origin", "none")

UNKNOWN = (
    "This dashboard opens with the address that `vertex-training ui` printed when it started, which has a "
    "token. Open that address again.\n"
)


class Access:
    """Passes on the requests that the user's own browser sends; all others are refused.

    `port` is the server's, as in the Host header. `prove` is called with the address of each
    client that has shown the token.
    """

    def __init__(
        self, app: ASGIApp, *, port: int, token: str, prove: Callable[[tuple[str, int] | None], None]
    ) -> None:
        self._app = app
        self._prove = prove
        self._token = token
        self._once: set[str] = set()
        self._cookie = f"vertex-training-{port}"  # cookies are shared by all ports of a host
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    def once(self) -> str:
        """Return a code that opens the dashboard once, for an address that other users may see."""
        code = secrets.token_urlsafe(32)
        self._once.add(code)
        return code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._answer(scope)
        await (answer or self._app)(scope, receive, _with_headers(send))

    def _answer(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is not passed on, else None."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts:
            return _refusal(403, "Use the address that `vertex-training ui` printed: this host is refused.\n")
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return _refusal(403, "Requests of other web pages are refused.\n")
        if headers.get("sec-fetch-site", "none") not in _OWN_SITES:
            return _refusal(403, "Requests of other web pages are refused. Open the address in a new tab.\n")
        acts = scope["method"] == "POST" and scope["path"].startswith(ACTIONS)
        if acts and "origin" not in headers:
            return _refusal(403, "Actions come from a page of the dashboard, in a browser.\n")
        if scope["method"] not in _METHODS and not acts:
            return _refusal(
                405, "The dashboard answers GET, and POST for actions.\n", {"Allow": ", ".join(_METHODS)}
            )
        known = self._is_known(headers)
        if known:
            scope[KNOWN] = True
            self._prove(scope.get("client"))
        if scope["path"].startswith(ASSETS):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query)
        if TOKEN in given or ONCE in given:
            return self._login(scope, query) if self._is_right(given) else _refusal(401, UNKNOWN)
        return None if known else _refusal(401, UNKNOWN)

    def _is_right(self, given: Mapping[str, str]) -> bool:
        """Return whether the token or the code of an address is right. A code is used up."""
        code = given.get(ONCE, "")
        if code in self._once:
            self._once.discard(code)
            return True
        return same(given.get(TOKEN, ""), self._token)

    def _is_known(self, headers: Headers) -> bool:
        try:
            cookies: SimpleCookie = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        found = cookies.get(self._cookie)
        return found is not None and same(found.value, self._token)

    def _login(self, scope: Scope, query: list[tuple[str, str]]) -> Response:
        self._prove(scope.get("client"))
        left = urlencode([(name, value) for name, value in query if name not in (TOKEN, ONCE)])
        # Two slashes at the beginning would be the address of another host.
        path = "/" + scope["path"].lstrip("/")
        answer = RedirectResponse(f"{path}?{left}" if left else path, status_code=303)
        answer.set_cookie(self._cookie, self._token, path="/", httponly=True, samesite="strict")
        return answer


def same(given: str, expected: str) -> bool:
    """Compare a given text with a secret, in the same time for every text."""
    return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def _refusal(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(text, status_code=status, headers=dict(headers or {}))


def _with_headers(send: Send) -> Send:
    """Return a function that sends an answer with the headers that every answer has."""

    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            found = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                found.setdefault(name, value)
            found.setdefault("Cache-Control", "no-store")
        await send(message)

    return sender
