"""Where repositories can be: the regions and multi-regions of Artifact Registry ("Repository locations")."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message

from vertex_emulator.artifact_registry import names
from vertex_emulator.artifact_registry.listing import PageRequest, page_of
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import RpcError

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


def get_location(request: Any) -> Message:
    """GetLocation."""
    place = names.parse_place(request.name)
    if place.location not in LOCATIONS:
        raise RpcError("NOT_FOUND", f"There is no location {request.name}.")
    found: Message = _location(place.project, place.location)
    return found


def list_locations(request: Any) -> Message:
    """ListLocations."""
    project = names.parse_project(request.name)
    answer = descriptors.message("google.cloud.location.ListLocationsResponse")
    page = PageRequest.of(request, query=f"locations {request.name} {request.filter}")
    found = [_location(project, each) for each in LOCATIONS]
    items, answer.next_page_token = page_of(found, page, key=lambda each: each.location_id)
    answer.locations.extend(items)
    listed: Message = answer
    return listed


def _location(project: str, location: str) -> Any:
    found = descriptors.message("google.cloud.location.Location")
    found.name = f"projects/{project}/locations/{location}"
    found.location_id = location
    found.display_name = location
    return found
