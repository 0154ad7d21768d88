"""Settings of a project and of its places: kept and given back, without effect on images."""

from __future__ import annotations

import re
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.artifact_registry.parts import Parts
from vertex_emulator.artifact_registry.repository_fields import PACKAGE
from vertex_emulator.kernel.projects import Place, project_number
from vertex_emulator.rpc.methods import RpcError

_PROJECT = re.compile(r"projects/([^/]+)/projectSettings")
_VPCSC = re.compile(r"projects/([^/]+)/locations/([^/]+)/vpcscConfig")
_MAX_PERCENT = 100


class Settings:
    """Project settings and VPC service controls: get and update."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def get_project(self, request: Any) -> Message:
        """GetProjectSettings."""
        match = _matched(_PROJECT, request.name)
        return self._get(_project_key(match[1]), f"{PACKAGE}.ProjectSettings", request.name)

    def update_project(self, request: Any) -> Message:
        """UpdateProjectSettings."""
        given = request.project_settings
        match = _matched(_PROJECT, given.name)
        if not 0 <= given.pull_percent <= _MAX_PERCENT:
            raise RpcError("INVALID_ARGUMENT", "project_settings.pull_percent has to be from 0 to 100.")
        return self._update(_project_key(match[1]), given, request.update_mask)

    def get_vpcsc(self, request: Any) -> Message:
        """GetVPCSCConfig."""
        match = _matched(_VPCSC, request.name)
        return self._get(_place_key(match), f"{PACKAGE}.VPCSCConfig", request.name)

    def update_vpcsc(self, request: Any) -> Message:
        """UpdateVPCSCConfig."""
        given = request.vpcsc_config
        return self._update(_place_key(_matched(_VPCSC, given.name)), given, request.update_mask)

    def _get(self, key: str, kind: str, name: str) -> Message:
        found = self._parts.store.setting(key, kind)
        found.name = name
        shown: Message = found
        return shown

    def _update(self, key: str, given: Any, mask: Any) -> Message:
        fields = given.DESCRIPTOR.fields_by_name
        paths = [path for path in mask.paths if path != "*"] or [name for name in fields if name != "name"]
        if unknown := [path for path in paths if path not in fields]:
            raise RpcError("INVALID_ARGUMENT", f"update_mask names {unknown[0]!r}, which there is not.")
        with self._parts.contents.transaction():
            found = self._parts.store.setting(key, given.DESCRIPTOR.full_name)
            for path in paths:
                setattr(found, path, getattr(given, path))
            found.name = ""
            self._parts.store.set_setting(key, found)
        found.name = given.name
        shown: Message = found
        return shown


def _project_key(project: str) -> str:
    return f"{project_number(project)}/projectSettings"


def _place_key(match: re.Match[str]) -> str:
    place = Place(project=match[1], location=match[2])
    return f"{place.number}/{place.location}/vpcscConfig"


def _matched(pattern: re.Pattern[str], name: str) -> re.Match[str]:
    match = pattern.fullmatch(name)
    if match is None:
        raise RpcError("INVALID_ARGUMENT", f"{name!r} is not the name of settings of a project.")
    return match
