"""JSON over HTTP with the endpoint's credentials, and the long-running operations of Google's services.

All calls go this way, except for the content of objects and images.
"""

from __future__ import annotations

import http.client
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from pulumi_vertex_training.cloud import clients, imports, retry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import DeadlineExceeded, Internal, Unavailable, UnexpectedAnswer
from pulumi_vertex_training.cloud.translation import kind_of_failure, translated
from vertex_emulator import machine_clock

if TYPE_CHECKING:
    from google.api_core.exceptions import GoogleAPICallError
    from requests import Response

Json = dict[str, Any]
Query = Mapping[str, "str | int | bool | Sequence[str] | None"]

_LARGEST_ANSWER = 64 << 20
"""Limit in bytes of an answer of the emulator, whose port another program may have."""


def call(
    endpoint: Endpoint,
    method: str,
    url: str,
    *,
    query: Query | None = None,
    body: Mapping[str, Any] | None = None,
    idempotent: bool = True,
) -> Json:
    """Return the answer's JSON document, or {} for an empty one.

    A query value of None is left out, and a list repeats the name for each of its values. Raises the errors
    of google.api_core, google.auth and requests; use it inside `translation.translated`.
    """
    if method == "GET" and endpoint.is_emulator and not clients.has_middleware():
        document = _read_lightly(endpoint, url, query)
        if document is not None:
            return document
    send = _send
    if idempotent:
        send = retry.for_idempotent(endpoint)(_send)
    return send(endpoint, method, url, query, body)


def create(
    endpoint: Endpoint,
    url: str,
    *,
    action: str,
    body: Mapping[str, Any],
    if_lost: str,
    query: Query | None = None,
    if_denied: str = "",
) -> Json:
    """Post a new resource, without retries: a retry could create a second one. Return the answer.

    `action` completes "Could not ..." in messages. Raises Unavailable if it is unknown whether the resource
    was created; `if_lost` is the rest of that message.
    """
    try:
        with translated(endpoint, action, if_denied=if_denied):
            return call(endpoint, "POST", url, query=query, body=body, idempotent=False)
    except (Unavailable, Internal, UnexpectedAnswer) as error:
        cause = error.__cause__
        if cause is None or retry.was_refused(cause):
            raise
        raise Unavailable(
            f"{error} {if_lost}",
            code=error.code,
            reason=error.reason,
            resource=error.resource,
            endpoint=endpoint,
        ) from cause


def pages(endpoint: Endpoint, url: str, *, query: Query) -> Iterator[Json]:
    """Yield the documents of a paged list, in order.

    Raises requests.exceptions.InvalidJSONError for a page that names itself as the next one.
    """
    token: str | None = None
    while True:
        page = call(endpoint, "GET", url, query={**query, "pageToken": token})
        yield page
        following = page.get("nextPageToken")
        if not following:
            return
        if following == token:
            from requests.exceptions import InvalidJSONError

            raise InvalidJSONError("a page of the list names itself as the next one")
        token = following


def _send(
    endpoint: Endpoint, method: str, url: str, query: Query | None, body: Mapping[str, Any] | None
) -> Json:
    imports.load_transport()
    from requests.exceptions import InvalidJSONError

    response = clients.session(endpoint).request(
        method,
        url,
        params=_parameters(query),
        json=body,
        timeout=endpoint.timeouts.call,
        allow_redirects=False,
    )
    if not 200 <= response.status_code < 300:
        raise refusal(response)
    if not response.content:
        return {}
    document = response.json()
    if not isinstance(document, dict):
        raise InvalidJSONError("a JSON object was expected", response=response)
    return document


def _read_lightly(endpoint: Endpoint, url: str, query: Query | None) -> Json | None:
    """Return the emulator's answer by the standard library, or None if the call has to be tried again.

    A preview of live jobs makes one call; `requests`, google.auth and google.api_core take 0.15 s to import.
    Raises the errors of google.api_core and requests, as `call` does.
    """
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=endpoint.timeouts.call)
    address = f"{parts.path}?{urlencode(_parameters(query), doseq=True)}"
    headers = {**endpoint.headers, "Authorization": f"Bearer {endpoint.token}"}
    try:
        connection.request("GET", address, headers=headers)
        answer = connection.getresponse()
        content = answer.read(_LARGEST_ANSWER + 1)
        if answer.status == 200 and len(content) <= _LARGEST_ANSWER:
            document = json.loads(content)
            return document if isinstance(document, dict) else None
    except TimeoutError as error:
        imports.load_transport()
        from requests.exceptions import ReadTimeout

        raise ReadTimeout(f"no answer in {endpoint.timeouts.call:g} s") from error
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()
    if len(content) > _LARGEST_ANSWER:
        from requests.exceptions import InvalidJSONError

        raise InvalidJSONError(f"it has more than {_LARGEST_ANSWER >> 20} MiB")
    if answer.status in retry.TRANSIENT_CODES or (answer.status == 401 and endpoint.data_dir is not None):
        return None  # the session tries again, after a 401 with the token of the emulator's last start
    imports.load_transport()
    import requests

    response = requests.Response()
    response.status_code, response.raw, response.url = answer.status, io.BytesIO(content), url
    raise refusal(response)


def refusal(response: Response) -> GoogleAPICallError:
    """Read the answer, and return it as an exception.

    `from_http_response` of google.api_core crashes on documents such as {"error": "text"}.
    """
    imports.load_transport()
    from google.api_core import exceptions

    _ = response.content  # a streamed answer is closed before the exception is translated
    made: GoogleAPICallError = exceptions.from_http_status(  # type: ignore[no-untyped-call]
        response.status_code, response.reason or "", response=response
    )
    return made


def _parameters(query: Query | None) -> dict[str, str | list[str]]:
    return {key: _text(value) for key, value in (query or {}).items() if value is not None}


def _text(value: str | int | bool | Sequence[str]) -> str | list[str]:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int)) else list(value)


_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0


def wait(
    endpoint: Endpoint,
    operation: Json,
    *,
    action: str,
    timeout: float,
    url: str = "",
    clock: Callable[[], float] = machine_clock.monotonic,
    sleep: Callable[[float], None] = machine_clock.sleep,
) -> Json:
    """Poll an operation, in its JSON form, until it is done; return its final form.

    `url` is the address of the service that has it, by default Vertex AI. `action` completes "Could
    not ..." in messages. Raises DeadlineExceeded after `timeout` seconds, and CloudError with the service's
    message, of the class by its code, if the operation failed.
    """
    deadline, pause = clock() + timeout, _FIRST_PAUSE
    while not operation.get("done"):
        name = operation.get("name", "")
        if clock() >= deadline:
            raise DeadlineExceeded(
                f"Could not {action} ({endpoint}): the operation {name} has not ended after {timeout:g} s. "
                "Run the same command again.",
                resource=action.partition(" ")[2],
                endpoint=endpoint,
            )
        sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
        with translated(endpoint, action):
            operation = call(endpoint, "GET", f"{url or endpoint.vertex_url}/v1/{name}")
    error = operation.get("error")
    if error:
        raise kind_of_failure(error.get("code"))(
            f"Could not {action} ({endpoint}): {error.get('message') or error}",
            resource=action.partition(" ")[2],
            endpoint=endpoint,
        )
    return operation
