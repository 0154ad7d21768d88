"""Resource Manager: projects, their policies, and the permissions that a caller has in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from google.protobuf import json_format
from google.protobuf.message import Message

from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.permissions.policies import ProjectPolicies
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, RpcError

_PROJECT = "google.cloud.resourcemanager.v3.Project"


_IAM = {
    "getIamPolicy": ("GetIamPolicy", "google.iam.v1.GetIamPolicyRequest"),
    "setIamPolicy": ("SetIamPolicy", "google.iam.v1.SetIamPolicyRequest"),
    "testIamPermissions": ("TestIamPermissions", "google.iam.v1.TestIamPermissionsRequest"),
}


def bindings(policies: ProjectPolicies, known: Callable[[], Iterable[str]]) -> Mapping[str, Binding]:
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

    return {
        f"{descriptors.PROJECTS}.GetProject": get,
        **policies.bindings(lambda project: _project(project, known)),
    }


def first_version(policies: ProjectPolicies, known: Callable[[], Iterable[str]]) -> Sequence[Route]:
    """Return the routes of v1, which gcloud uses and which has no gRPC. `known` is that of `bindings`."""
    methods = policies.bindings(lambda project: _project(project, known))

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

    def about_policy(verb: str) -> Route:
        name, kind = _IAM[verb]
        method = methods[f"{descriptors.PROJECTS}.{name}"]

        def answer(request: Request, match: re.Match[str]) -> Response:
            message = descriptors.message(kind)
            try:
                json_format.ParseDict(request.body.json(), message, descriptor_pool=descriptors.pool())
                message.resource = f"projects/{unquote(match[1])}"
                found = method(message)
            except (json_format.ParseError, TypeError, AttributeError) as error:
                raise HttpError(400, "", f"Invalid JSON payload received. {error}") from error
            except RpcError as error:
                raise error.http_error() from error
            return json_response(json_format.MessageToDict(found, descriptor_pool=descriptors.pool()))

        return Route("POST", rf"/v1/projects/([^/:]+):{verb}", answer, f"Projects.{name}")

    return (
        Route("GET", r"/v1/projects/([^/:]+)", get, "Projects.GetProject"),
        *(about_policy(verb) for verb in _IAM),
    )


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
