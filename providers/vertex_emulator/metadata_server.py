"""The part of a machine's metadata server that gives credentials to Google's libraries and tools.

The project is part of the address (see `addresses`). Source of the paths and of the rules for headers:
Compute Engine documentation, "About VM metadata" and "Query VM metadata"; google-auth and gcloud use no
others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import unquote

from vertex_emulator.http.messages import Handler, HttpError, Request, Response, Route, json_response
from vertex_emulator.kernel.projects import project_number

LIFETIME_SECONDS = 3600
"""The lifetime in the response. A token is in fact valid until a start of the emulator renews it."""

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_UNIVERSE = "googleapis.com"
_FLAVOR = {"Metadata-Flavor": "Google"}
_ACCOUNT = r"instance/service-accounts/(?:default|[^/@]+@[^/]+)"

Answer: TypeAlias = Callable[[str], object]
"""Function from the project's ID to the value: text, or a value for JSON."""


def email(project: str) -> str:
    """Return the email address of the service account that programs run as."""
    return f"{project_number(project)}-compute@developer.gserviceaccount.com"


def metadata_routes(token: str) -> list[Route]:
    """Return the routes; `token` is the access token in the response."""

    def account(project: str) -> dict[str, object]:
        return {"aliases": ["default"], "email": email(project), "scopes": list(_SCOPES)}

    answers: dict[str, Answer] = {
        "project/project-id": lambda project: project,
        "project/numeric-project-id": project_number,
        "universe/universe[-_]domain": lambda _: _UNIVERSE,
        "instance/zone": lambda project: f"projects/{project_number(project)}/zones/us-central1-a",
        "instance/service-accounts/": lambda project: f"default/\n{email(project)}/\n",
        rf"{_ACCOUNT}/": lambda project: account(project),
        rf"{_ACCOUNT}/email": email,
        rf"{_ACCOUNT}/scopes": lambda _: "\n".join(_SCOPES) + "\n",
        rf"{_ACCOUNT}/token": lambda _: {
            "access_token": token,
            "expires_in": LIFETIME_SECONDS,
            "token_type": "Bearer",
        },
    }
    return [
        Route("GET", r"/([^/]+)/?", _handler(lambda _: "computeMetadata/\n")),
        Route(
            "GET",
            r"/([^/]+)/computeMetadata/(?:v1/)?",
            _handler(lambda _: "instance/\nproject/\nuniverse/\n"),
        ),
        *(
            Route("GET", rf"/([^/]+)/computeMetadata/v1/{path}", _handler(each))
            for path, each in answers.items()
        ),
    ]


def _handler(answer: Answer) -> Handler:
    def handle(request: Request, match: re.Match[str]) -> Response:
        _check(request)
        value = answer(unquote(match[1]))
        if isinstance(value, str):
            return Response(200, value.encode(), "application/text", _FLAVOR)
        return json_response(value, headers=_FLAVOR)

    return handle


def _check(request: Request) -> None:
    """Check the headers, so that a program that fetches an address for another party is rejected."""
    if request.headers.get("metadata-flavor") != "Google":
        raise HttpError(403, "", "The header 'Metadata-Flavor: Google' is missing.")
    if "x-forwarded-for" in request.headers:
        raise HttpError(403, "", "The request was forwarded: it has the header X-Forwarded-For.")
