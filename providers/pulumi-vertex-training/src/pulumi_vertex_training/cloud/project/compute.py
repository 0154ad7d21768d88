"""Reservations, networks and network attachments of Compute Engine, by their full names."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated

HOST = "compute.googleapis.com"

PEERING = "servicenetworking-googleapis-com"
"""The name of the peering of a network with Google's services, among them the machines of training jobs."""


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Reserved machines: type, number, number in use, and the state, such as READY."""

    machine_type: str
    count: int
    in_use: int
    status: str


def reservation(endpoint: Endpoint, name: str) -> Reservation:
    """Return projects/P/zones/Z/reservations/R. Raises NotFound."""
    with translated(endpoint, f"read reservation {name}"):
        wire = rest.call(endpoint, "GET", f"{endpoint.service_url(HOST)}/compute/v1/{name}")
    specific = wire.get("specificReservation") or {}
    return Reservation(
        machine_type=str((specific.get("instanceProperties") or {}).get("machineType", "")),
        count=int(specific.get("count") or 0),
        in_use=int(specific.get("inUseCount") or 0),
        status=str(wire.get("status", "")),
    )


def is_peered(endpoint: Endpoint, network: str) -> bool:
    """Return whether projects/P/global/networks/N has an active peering with Google's services."""
    with translated(endpoint, f"read network {network}"):
        wire = rest.call(endpoint, "GET", f"{endpoint.service_url(HOST)}/compute/v1/{network}")
    return any(
        one.get("name") == PEERING and one.get("state") == "ACTIVE" for one in wire.get("peerings") or ()
    )


def attachment_accepts(endpoint: Endpoint, name: str) -> str:
    """Return the connection preference of projects/P/regions/R/networkAttachments/A. Raises NotFound."""
    with translated(endpoint, f"read network attachment {name}"):
        wire = rest.call(endpoint, "GET", f"{endpoint.service_url(HOST)}/compute/v1/{name}")
    return str(wire.get("connectionPreference", ""))
