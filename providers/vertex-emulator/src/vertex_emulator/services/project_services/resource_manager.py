"""Resource Manager: projects, their policies, and the permissions that a caller has in them.

The projects have no parent: there are no folders and no organizations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.http.messages import Request, Response, Route, json_response
from vertex_emulator.server.permissions.policies import ProjectPolicies
from vertex_emulator.server.rpc import descriptors, paging
from vertex_emulator.server.rpc import methods as rpc
from vertex_emulator.server.rpc.descriptors import DynamicMessage, HttpRule, Method
from vertex_emulator.server.rpc.methods import Binding, RpcError, Violation
from vertex_emulator.server.rpc.paging import Wanted
from vertex_emulator.services.project_services.projects import SIZES, Projects

_PACKAGE = "google.cloud.resourcemanager.v3"
_PARENT = re.compile(r"(?:folders|organizations)/[^/]+")
_POLICY_METHODS = ("GetIamPolicy", "SetIamPolicy", "TestIamPermissions")


def bindings(policies: ProjectPolicies, projects: Projects) -> Mapping[str, Binding]:
    """Return the methods by full name."""

    def get(request: DynamicMessage) -> DynamicMessage:
        return _project(projects.named(str(request.name).removeprefix("projects/")))

    def search(request: DynamicMessage) -> DynamicMessage:
        wanted = Wanted(size=request.page_size, token=request.page_token, sizes=SIZES)
        page = projects.search(request.query, wanted)
        answer = descriptors.message(f"{_PACKAGE}.SearchProjectsResponse")
        answer.projects.extend(_project(each) for each in page.items)
        answer.next_page_token = page.next_page_token
        return answer

    return {
        f"{descriptors.PROJECTS}.GetProject": get,
        f"{descriptors.PROJECTS}.SearchProjects": search,
        f"{descriptors.PROJECTS}.ListProjects": _list,
        **policies.bindings(projects.named),
    }


def first_version(policies: ProjectPolicies, projects: Projects) -> Sequence[Route]:
    """Return the routes of v1, which gcloud uses and which has no gRPC."""
    pool = descriptors.pool()
    methods = [
        Method(
            name=f"{descriptors.PROJECTS}.{name}",
            request=pool.FindMessageTypeByName(f"google.iam.v1.{name}Request"),
            rules=(_rule(name),),
        )
        for name in _POLICY_METHODS
    ]

    def get(_: Request, match: re.Match[str]) -> Response:
        try:
            project = projects.named(unquote(match[1]))
        except RpcError as error:
            raise error.http_error() from None
        return json_response(_first(project))

    def search(request: Request, _: re.Match[str]) -> Response:
        try:
            page = projects.search(request.parameter("filter") or "", paging.of_request(request, SIZES))
        except RpcError as error:
            raise error.http_error() from None
        found = {"projects": [_first(each) for each in page.items]} if page.items else {}
        return json_response({**found, **page.token()})

    return (
        Route("GET", r"/v1/projects", search, "Projects.SearchProjects"),  # what v3 calls search
        Route("GET", r"/v1/projects/([^/:]+)", get, "Projects.GetProject"),
        *rpc.routes_of(methods, policies.bindings(projects.named)),
    )


def _rule(name: str) -> HttpRule:
    return HttpRule(verb="POST", uri=f"/v1/projects/{{resource}}:{name[0].lower()}{name[1:]}", body="*")


def _list(request: DynamicMessage) -> DynamicMessage:
    """Refuse ListProjects, which lists the projects of one folder or organization."""
    if not _PARENT.fullmatch(request.parent):
        what = f"parent is {request.parent[:200]!r}. Use folders/ID or organizations/ID, or SearchProjects."
        raise RpcError("INVALID_ARGUMENT", what, [Violation("parent", what)])
    raise RpcError(
        "PERMISSION_DENIED",
        f"The caller does not have permission, or there is no {request.parent}. The emulator's projects have "
        "no parent: use SearchProjects.",
    )


def _project(project: str) -> DynamicMessage:
    found = descriptors.message(f"{_PACKAGE}.Project")
    found.name, found.project_id = f"projects/{project_number(project)}", project
    found.display_name, found.state = project, found.ACTIVE
    return found


def _first(project: str) -> Mapping[str, str]:
    """Return a project as v1 has it."""
    return {
        "projectNumber": project_number(project),
        "projectId": project,
        "lifecycleState": "ACTIVE",
        "name": project,
    }
