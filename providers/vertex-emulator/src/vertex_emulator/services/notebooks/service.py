"""NotebookService: the templates of runtimes as records. Runtimes and executions are refused by name."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Violation
from vertex_emulator.services.resource_engine import listing, names
from vertex_emulator.services.resource_engine.operations import V1, ResourceOperations
from vertex_emulator.services.resource_engine.records import Collection, Record, Records
from vertex_emulator.services.resource_engine.resources import Resources
from vertex_emulator.services.resource_engine.service import StoredService


class _Templates(Resources):
    updatable = ("encryption_spec.kms_key_name",)
    ids = names.NESTED_IDS
    listing = listing.Listing(
        fields={
            "notebook_runtime_template": listing.Field(value=lambda record: record.id),
            "display_name": listing.Field(value=lambda record: record.message.display_name),
            "labels": listing.LABELS,
            "machine_type": listing.Field(value=lambda record: record.message.machine_spec.machine_type),
        },
        orders=listing.ORDERS,
    )

    def problems(self, message: DynamicMessage, _: Record | None) -> Iterator[Violation]:
        yield from names.display_name_problems(message.display_name, f"{self.field}.display_name")
        yield from names.label_problems(message.labels, f"{self.field}.labels")


def notebook_service(database: Database, operations: ResourceOperations, clock: Clock) -> StoredService:
    """Return the service of one emulator."""
    templates = Collection.of(f"{V1}.NotebookRuntimeTemplate")
    records = Records(database, clock, templates, table="notebook_runtime_templates")
    return StoredService(_Templates(descriptors.NOTEBOOK_SERVICE, records, operations, clock))
