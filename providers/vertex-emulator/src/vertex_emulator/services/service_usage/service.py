"""The methods of Service Usage, and the emulator's own calls at `/_local/services`."""

from __future__ import annotations

import difflib
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError
from vertex_emulator.server.rpc.paging import Sizes, Wanted
from vertex_emulator.services.service_usage.states import DOMAIN, EVERYWHERE, HERE, ServiceStates

_PACKAGE = "google.api.serviceusage.v1"
_PATH = "/_local/services"
_SERVICE = re.compile(r"[a-z][a-z0-9-]*\.googleapis\.com")
_NAME = re.compile(r"projects/([^/]+)/services/([^/]+)")
_DISABLED, _ENABLED = 1, 2
_STATES = {"ENABLED": True, "DISABLED": False}
_PAGE = Sizes(default=50, most=200)
_MOST_ENABLED, _MOST_READ = 20, 30
"""Services in one call of batchEnable and batchGet (API reference)."""
_MISSPELT = 0.95
"""How similar to a service of the emulator one must be to count as misspelt, not as another service."""
_NO_CHANGE = "operations/noop.DONE_OPERATION"


class ServiceUsage:
    """The service of one emulator."""

    def __init__(self, states: ServiceStates) -> None:
        self._states = states

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their full names."""
        methods: Mapping[str, Binding] = {
            "GetService": self.get,
            "ListServices": self.list,
            "BatchGetServices": self.batch_get,
            "EnableService": self.enable,
            "DisableService": self.disable,
            "BatchEnableServices": self.batch_enable,
        }
        return {f"{descriptors.SERVICE_USAGE}.{name}": method for name, method in methods.items()}

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Answer GetService."""
        return self._service(*_parse(request.name))

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """Answer ListServices, by name. `filter` is state:ENABLED or state:DISABLED."""
        project = _project(request.parent)
        wanted = _wanted(request.filter)
        names = [
            name for name in self._states.names() if wanted in (None, self._states.is_enabled(name, project))
        ]
        asked = Wanted(size=request.page_size, token=request.page_token, sizes=_PAGE)
        page = asked.page(names, query=f"{project} {wanted}")
        answer = descriptors.message(f"{_PACKAGE}.ListServicesResponse")
        answer.services.extend(self._service(project, name) for name in page.items)
        answer.next_page_token = page.next_page_token
        return answer

    def batch_get(self, request: DynamicMessage) -> DynamicMessage:
        """Answer BatchGetServices, in the order asked."""
        project = _project(request.parent)
        if not 1 <= len(request.names) <= _MOST_READ:
            raise RpcError("INVALID_ARGUMENT", f"names must have 1 to {_MOST_READ} services.")
        answer = descriptors.message(f"{_PACKAGE}.BatchGetServicesResponse")
        for name in request.names:
            owner, service = _parse(name)
            if project_number(owner) != project_number(project):
                raise RpcError("INVALID_ARGUMENT", f"{name} is not in {request.parent}.")
            answer.services.append(self._service(owner, service))
        return answer

    def enable(self, request: DynamicMessage) -> DynamicMessage:
        """Answer EnableService with an operation that is done."""
        return self._changed(*_parse(request.name), enabled=True)

    def disable(self, request: DynamicMessage) -> DynamicMessage:
        """Answer DisableService with an operation that is done. No other service is disabled with it."""
        return self._changed(*_parse(request.name), enabled=False)

    def batch_enable(self, request: DynamicMessage) -> DynamicMessage:
        """Answer BatchEnableServices with an operation that is done."""
        project = _project(request.parent)
        if not 1 <= len(request.service_ids) <= _MOST_ENABLED:
            raise RpcError("INVALID_ARGUMENT", f"service_ids must have 1 to {_MOST_ENABLED} services.")
        services = [_checked(each) for each in request.service_ids]
        for service in services:
            self._states.set(service, enabled=True, project=project)
        response = descriptors.message(f"{_PACKAGE}.BatchEnableServicesResponse")
        response.services.extend(self._service(project, service) for service in services)
        return _finished_operation(response, project, services)

    def _changed(self, project: str, service: str, *, enabled: bool) -> DynamicMessage:
        same = self._states.is_enabled(service, project) == enabled
        if not same:
            self._states.set(service, enabled=enabled, project=project)
        kind = "EnableServiceResponse" if enabled else "DisableServiceResponse"
        response = descriptors.message(f"{_PACKAGE}.{kind}")
        response.service.CopyFrom(self._service(project, service))
        return _finished_operation(response, project, [] if same else [service])

    def _service(self, project: str, service: str) -> DynamicMessage:
        number = project_number(project)
        found = descriptors.message(f"{_PACKAGE}.Service")
        found.name, found.parent = f"projects/{number}/services/{service}", f"projects/{number}"
        found.config.name = service
        found.state = _ENABLED if self._states.is_enabled(service, project) else _DISABLED
        return found


def _finished_operation(response: DynamicMessage, project: str, changed: Sequence[str]) -> DynamicMessage:
    operation = descriptors.message("google.longrunning.Operation")
    operation.name = f"operations/acf.p2-{project_number(project)}-{uuid.uuid4()}" if changed else _NO_CHANGE
    metadata = descriptors.message(f"{_PACKAGE}.OperationMetadata")
    metadata.resource_names.extend(f"services/{service}" for service in changed)
    operation.done = True
    operation.metadata.Pack(metadata)
    operation.response.Pack(response)
    return operation


def _parse(name: str) -> tuple[str, str]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise RpcError("UNIMPLEMENTED", f"The emulator has services of projects only, not {name!r}.")
    return match[1], _checked(match[2])


def _checked(service: str) -> str:
    if not _SERVICE.fullmatch(service):
        raise RpcError("PERMISSION_DENIED", f"Not found or permission denied for service(s): {service}.")
    return service


def _project(parent: str) -> str:
    kind, _, project = parent.partition("/")
    if kind != "projects" or not project:
        raise RpcError("UNIMPLEMENTED", f"The emulator has services of projects only, not of {parent!r}.")
    return project


def _wanted(text: str) -> bool | None:
    """Return the state that a filter asks for. Raises `RpcError` INVALID_ARGUMENT."""
    if not text:
        return None
    field, _, state = text.partition(":")
    if field != "state" or state not in _STATES:
        raise RpcError("INVALID_ARGUMENT", f"filter is {text!r}. Use state:ENABLED or state:DISABLED.")
    return _STATES[state]


def service_routes(states: ServiceStates) -> Sequence[Route]:
    """Return GET and DELETE all settings, and PUT one: {"service", "enabled", "project"}.

    Without a project the setting is for each project.
    """

    def listed(_request: Request, _match: re.Match[str]) -> Response:
        return json_response({"services": views(states)})

    def put(request: Request, _match: re.Match[str]) -> Response:
        body = body_of(request, "service", "enabled", "project")
        service, enabled, project = body.get("service"), body.get("enabled"), body.get("project")
        if isinstance(service, str) and "." not in service:
            service = f"{service}{DOMAIN}"
        if not (isinstance(service, str) and _SERVICE.fullmatch(service)):
            raise HttpError(
                400, "", f"service must be a name such as aiplatform.googleapis.com, not {service!r}."
            )
        near = difflib.get_close_matches(service, HERE, n=1, cutoff=_MISSPELT)
        if service not in HERE and near:
            raise HttpError(400, "", f"There is no service {service!r}. Did you mean {near[0]!r}?")
        if not isinstance(enabled, bool):
            raise HttpError(400, "", "enabled must be true or false.")
        if project is not None and not (isinstance(project, str) and re.fullmatch(r"[^/\s]+", project)):
            raise HttpError(400, "", f"project must be the id of a project, not {project!r}.")
        states.set(service, enabled=enabled, project=project or EVERYWHERE)
        return json_response({"service": service, "enabled": enabled, "project": project})

    def clear(_request: Request, _match: re.Match[str]) -> Response:
        states.clear()
        return json_response({})

    return (Route("GET", _PATH, listed), Route("PUT", _PATH, put), Route("DELETE", _PATH, clear))


def views(states: ServiceStates) -> list[dict[str, Any]]:
    """Return the settings that differ from the default, as JSON."""
    return [
        {"service": each.service, "enabled": each.enabled, "project": each.project or None}
        for each in states.all()
    ]
