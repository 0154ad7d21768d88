"""Cloud Resource Manager's `projects.get`, which google-cloud-aiplatform asks for the id of a project."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import unquote

from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.kernel.projects import project_number


def project_routes(known: Callable[[], Iterable[str]]) -> list[Route]:
    """The route. `known` gives ids of projects: an id can be told only for the number of one of these."""

    def get(_: Request, match: re.Match[str]) -> Response:
        asked = unquote(match[1])
        project = asked
        if asked.isascii() and asked.isdigit():
            project = next((each for each in known() if project_number(each) == asked), "")
        if not project:
            raise HttpError(
                403,
                "PERMISSION_DENIED",
                f"The caller does not have permission, or there is no project {asked}.",
            )
        return json_response(
            {
                "name": f"projects/{project_number(project)}",
                "projectId": project,
                "displayName": project,
                "state": "ACTIVE",
            }
        )

    return [Route("GET", r"/v3/projects/([^/:]+)", get, "Projects.GetProject")]
