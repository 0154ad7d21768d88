"""Post a JSON document to a webhook.

Only http and https, and no redirects: an address of the declaration decides where the document goes, not the
server's answer. No error shows the address or a text of the server.
"""

from __future__ import annotations

import http
import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import IO, Any

from vertex_training import __version__
from vertex_training.notifications.notification import is_loopback

SECONDS = 10.0
DELIVERY_HEADER = "Vertex-Training-Delivery"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Treats a redirect as the error that it is for a webhook."""

    def redirect_request(
        self,
        req: urllib.request.Request,  # noqa: ARG002
        fp: IO[bytes],  # noqa: ARG002
        code: int,  # noqa: ARG002
        msg: str,  # noqa: ARG002
        headers: http.client.HTTPMessage,  # noqa: ARG002
        newurl: str,  # noqa: ARG002
    ) -> None:
        return None


def post(address: str, document: Mapping[str, Any], *, delivery: str, seconds: float = SECONDS) -> str:
    """Post a document. Return "" after an answer of 2xx, or else what went wrong."""
    request = urllib.request.Request(  # noqa: S310 - the scheme is checked where the address is read
        address,
        data=json.dumps(document).encode(),
        headers={
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": f"vertex-training-emulator/{__version__}",
            DELIVERY_HEADER: delivery,
        },
        method="POST",
    )
    try:
        with _opener(direct=is_loopback(address)).open(request, timeout=seconds):
            return ""
    except urllib.error.HTTPError as error:
        error.close()
        return _answer(error.code)
    except urllib.error.URLError as error:
        return _reason(error.reason, seconds)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _reason(error, seconds)


def _opener(*, direct: bool) -> urllib.request.OpenerDirector:
    """Return an opener of http and https; `direct` means without the machine's proxies."""
    opener = urllib.request.OpenerDirector()
    handlers: list[urllib.request.BaseHandler] = [
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _NoRedirect(),
    ]
    if not direct:
        handlers.append(urllib.request.ProxyHandler())
    for handler in handlers:
        opener.add_handler(handler)
    return opener


def _answer(status: int) -> str:
    try:
        words = f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        words = str(status)
    if 300 <= status < 400:
        return f"the webhook answered {words}; redirects are not followed, so declare the final address"
    return f"the webhook answered {words}"


def _reason(error: object, seconds: float) -> str:
    """Describe an error by its kind: its own text may contain the address."""
    if isinstance(error, ssl.SSLError):
        return f"no secure connection to the webhook: {error.reason or 'TLS failed'}"
    if isinstance(error, TimeoutError):
        return f"the webhook did not answer within {seconds:g} s"
    if isinstance(error, OSError) and error.strerror:
        return f"no connection to the webhook: {error.strerror}"
    return f"no answer of the webhook: {type(error).__name__}"
