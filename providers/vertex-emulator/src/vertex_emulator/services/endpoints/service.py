"""EndpointService: endpoints as records. Models cannot be deployed to them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Violation
from vertex_emulator.services.resource_engine import listing, names
from vertex_emulator.services.resource_engine.names import IdRule
from vertex_emulator.services.resource_engine.operations import V1, ResourceOperations
from vertex_emulator.services.resource_engine.records import Collection, Record, Records
from vertex_emulator.services.resource_engine.resources import Resources
from vertex_emulator.services.resource_engine.service import StoredService


class _Endpoints(Resources):
    updatable = ("display_name", "description", "labels", "traffic_split")
    ids = IdRule(
        pattern=re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?|[1-9][0-9]{0,8}"),
        words="If the first character is a letter, this value may be up to 63 characters, and valid "
        "characters are [a-z0-9-]. If it is a number, this value may be up to 9 characters, and valid "
        "characters are [0-9] with no leading zeros.",
    )
    listing = listing.Listing(
        fields={
            "endpoint": listing.Field(value=lambda record: record.id),
            "display_name": listing.Field(value=lambda record: record.message.display_name),
            "labels": listing.LABELS,
        },
        orders=listing.ORDERS,
    )

    def problems(self, message: DynamicMessage, _: Record | None) -> Iterator[Violation]:
        yield from names.display_name_problems(message.display_name, "endpoint.display_name")
        if message.traffic_split:
            yield Violation("endpoint.traffic_split", "It must be empty if no model is deployed.")
        yield from names.label_problems(message.labels, "endpoint.labels")


def endpoint_service(database: Database, operations: ResourceOperations, clock: Clock) -> StoredService:
    """Return the service of one emulator."""
    records = Records(database, clock, Collection.of(f"{V1}.Endpoint"), table="endpoints")
    return StoredService(_Endpoints(descriptors.ENDPOINT_SERVICE, records, operations, clock))
