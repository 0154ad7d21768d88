"""Resource Manager: GetProject, with which Google's clients turn the number of a project into its id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, RpcError

_PROJECT = "google.cloud.resourcemanager.v3.Project"


def bindings(known: Callable[[], Iterable[str]]) -> Mapping[str, Binding]:
    """Return the methods by full name.

    `known` returns project ids; a project number is answered only if it belongs to one of them.
    """

    def get(request: Any) -> Message:
        asked = str(request.name).removeprefix("projects/")
        project = asked
        if asked.isascii() and asked.isdigit():
            project = next((each for each in known() if project_number(each) == asked), "")
        if not project or "/" in asked:
            raise RpcError(
                "PERMISSION_DENIED", f"The caller does not have permission, or there is no project {asked}."
            )
        found = descriptors.message(_PROJECT)
        found.name, found.project_id = f"projects/{project_number(project)}", project
        found.display_name, found.state = project, found.ACTIVE
        answer: Message = found
        return answer

    return {f"{descriptors.PROJECTS}.GetProject": get}
