"""Resource Manager: GetProject, with which Google's clients turn the number of a project into its id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from google.protobuf.message import Message

from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, RpcError

_PROJECT = "google.cloud.resourcemanager.v3.Project"


def bindings(known: Callable[[], Iterable[str]]) -> Mapping[str, Binding]:
    """Return the methods by full name.

    `known` returns project ids; a project number is answered only if it belongs to one of them.
    """

    def get(request: Any) -> Message:
        project = _project(str(request.name).removeprefix("projects/"), known)
        found = descriptors.message(_PROJECT)
        found.name, found.project_id = f"projects/{project_number(project)}", project
        found.display_name, found.state = project, found.ACTIVE
        answer: Message = found
        return answer

    return {f"{descriptors.PROJECTS}.GetProject": get}


def first_version(known: Callable[[], Iterable[str]]) -> Route:
    """Return the route of v1, which gcloud uses and which has no gRPC. `known` is that of `bindings`."""

    def get(_: Request, match: re.Match[str]) -> Response:
        try:
            project = _project(unquote(match[1]), known)
        except RpcError as error:
            raise HttpError(403, error.code, error.message) from None
        return json_response(
            {
                "projectNumber": project_number(project),
                "projectId": project,
                "lifecycleState": "ACTIVE",
                "name": project,
            }
        )

    return Route("GET", r"/v1/projects/([^/:]+)", get, "Projects.GetProject")


def _project(asked: str, known: Callable[[], Iterable[str]]) -> str:
    """Return the id of the project with this id or number. Raises RpcError for an unknown number."""
    project = asked
    if asked.isascii() and asked.isdigit():
        project = next((each for each in known() if project_number(each) == asked), "")
    if not project or "/" in asked:
        raise RpcError(
            "PERMISSION_DENIED", f"The caller does not have permission, or there is no project {asked}."
        )
    return project
