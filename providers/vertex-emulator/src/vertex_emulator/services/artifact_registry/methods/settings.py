"""The methods for locations and project settings."""

from __future__ import annotations

import re

from vertex_emulator.kernel.projects import Place, project_number
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.artifact_registry import names
from vertex_emulator.services.artifact_registry.backend import Backend
from vertex_emulator.services.artifact_registry.listing import PageRequest, page_of
from vertex_emulator.services.artifact_registry.repository_fields import PACKAGE

_PROJECT = re.compile(r"projects/([^/]+)/projectSettings")
_VPCSC = re.compile(r"projects/([^/]+)/locations/([^/]+)/vpcscConfig")
_MAX_PERCENT = 100


class Settings:
    """The methods that get and update project settings and VPC Service Controls settings."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def get_project(self, request: DynamicMessage) -> DynamicMessage:
        """Return the settings of a project."""
        match = _matched(_PROJECT, request.name)
        return self._get(_project_key(match[1]), f"{PACKAGE}.ProjectSettings", request.name)

    def update_project(self, request: DynamicMessage) -> DynamicMessage:
        """Update the settings of a project."""
        given = request.project_settings
        match = _matched(_PROJECT, given.name)
        if not 0 <= given.pull_percent <= _MAX_PERCENT:
            raise RpcError("INVALID_ARGUMENT", "project_settings.pull_percent must be from 0 to 100.")
        return self._update(_project_key(match[1]), given, request.update_mask)

    def get_vpcsc(self, request: DynamicMessage) -> DynamicMessage:
        """Return the VPC Service Controls settings of a location."""
        match = _matched(_VPCSC, request.name)
        return self._get(_place_key(match), f"{PACKAGE}.VPCSCConfig", request.name)

    def update_vpcsc(self, request: DynamicMessage) -> DynamicMessage:
        """Update the VPC Service Controls settings of a location."""
        given = request.vpcsc_config
        return self._update(_place_key(_matched(_VPCSC, given.name)), given, request.update_mask)

    def _get(self, key: str, kind: str, name: str) -> DynamicMessage:
        setting = self._backend.store.setting(key, kind)
        setting.name = name
        return setting

    def _update(self, key: str, given: DynamicMessage, mask: DynamicMessage) -> DynamicMessage:
        fields = given.DESCRIPTOR.fields_by_name
        paths = [path for path in mask.paths if path != "*"] or [name for name in fields if name != "name"]
        if unknown := [path for path in paths if path not in fields]:
            raise RpcError("INVALID_ARGUMENT", f"update_mask: there is no field {unknown[0]!r}.")
        with self._backend.contents.transaction():
            setting = self._backend.store.setting(key, given.DESCRIPTOR.full_name)
            for path in paths:
                setattr(setting, path, getattr(given, path))
            setting.name = ""
            self._backend.store.set_setting(key, setting)
        setting.name = given.name
        return setting


def _project_key(project: str) -> str:
    return f"{project_number(project)}/projectSettings"


def _place_key(match: re.Match[str]) -> str:
    place = Place(project=match[1], location=match[2])
    return f"{place.number}/{place.location}/vpcscConfig"


def _matched(pattern: re.Pattern[str], name: str) -> re.Match[str]:
    match = pattern.fullmatch(name)
    if match is None:
        raise RpcError("INVALID_ARGUMENT", f"{name!r} is not the name of a project's settings.")
    return match


AS_OF = "2026-08"

MULTI_REGIONS = ("asia", "europe", "us")
_REGIONS = (
    "africa-south1 "
    "asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 asia-south1 asia-south2 "
    "asia-southeast1 asia-southeast2 "
    "australia-southeast1 australia-southeast2 "
    "europe-central2 europe-north1 europe-north2 europe-southwest1 europe-west1 europe-west10 europe-west12 "
    "europe-west2 europe-west3 europe-west4 europe-west6 europe-west8 europe-west9 "
    "me-central1 me-central2 me-west1 "
    "northamerica-northeast1 northamerica-northeast2 northamerica-south1 "
    "southamerica-east1 southamerica-west1 "
    "us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4"
)
LOCATIONS = tuple(sorted((*MULTI_REGIONS, *_REGIONS.split())))
HOSTS = (*(f"{location}-docker.pkg.dev" for location in LOCATIONS), *names.LEGACY_IDS)
"""The hosts of Google's registries."""


def get_location(request: DynamicMessage) -> DynamicMessage:
    """Return a location."""
    place = names.parse_place(request.name)
    if place.location not in LOCATIONS:
        raise RpcError("NOT_FOUND", f"There is no location {request.name}.")
    return _location(place.project, place.location)


def list_locations(request: DynamicMessage) -> DynamicMessage:
    """List all locations."""
    project = names.parse_project(request.name)
    answer = descriptors.message("google.cloud.location.ListLocationsResponse")
    page = PageRequest.of(request, query=f"locations {request.name} {request.filter}")
    locations = [_location(project, each) for each in LOCATIONS]
    items, answer.next_page_token = page_of(locations, page, key=lambda each: each.location_id)
    answer.locations.extend(items)
    return answer


def _location(project: str, location: str) -> DynamicMessage:
    found = descriptors.message("google.cloud.location.Location")
    found.name = f"projects/{project}/locations/{location}"
    found.location_id = location
    found.display_name = location
    return found
