"""Long-running operations (google.longrunning.Operations), shared by the services that answer with one."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf import json_format

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError
from vertex_emulator.server.rpc.paging import page_size

_SCHEMA = (
    """
    CREATE TABLE operations (
        name TEXT PRIMARY KEY,
        parent TEXT NOT NULL,
        number INTEGER NOT NULL,
        operation TEXT NOT NULL
    );
    CREATE INDEX operations_by_parent ON operations (parent, number);
    """,
)
_BELOW_PLACE = re.compile(r"(projects/[^/]+/locations/[^/]+)/operations/([0-9]{1,18}|[0-8][0-9]{18})")
_PAGE = 100
_DIGITS = 20
_LONGEST_WAIT = 60.0
"""The most seconds that WaitOperation waits, whatever its timeout: the method is best effort."""


class Operations:
    """The operations of all services. Both the project's id and its number find them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changed = threading.Condition()
        self._cancels: dict[str, Callable[[], None]] = {}
        database.migrate("operations", _SCHEMA)

    def add(self, operation: DynamicMessage) -> None:
        """Store an operation. Its `name` ends in `/operations/NUMBER`."""
        name: str = operation.name
        parent, _, number = _with_number(name).rpartition("/operations/")
        text = json_format.MessageToJson(operation, descriptor_pool=descriptors.pool(), indent=None)
        self._database.execute(
            "INSERT INTO operations VALUES (?, ?, ?, ?)", (_with_number(name), parent, int(number), text)
        )

    def on_cancel(self, name: str, cancel: Callable[[], None]) -> None:
        """Register the function that CancelOperation calls for an operation that is not done.

        Without it, CancelOperation has no effect. A cancelled operation of the service ends with the code 1.
        """
        self._cancels[_with_number(name)] = cancel

    def change(self, name: str, change: Callable[[DynamicMessage], None]) -> None:
        """Change an operation, unless it is done or deleted."""
        with self._database.transaction() as connection:
            row = connection.execute(
                "SELECT operation FROM operations WHERE name = ?", (_with_number(name),)
            ).fetchone()
            operation = None if row is None else _operation(row["operation"])
            if operation is None or operation.done:
                return
            change(operation)
            text = json_format.MessageToJson(operation, descriptor_pool=descriptors.pool(), indent=None)
            connection.execute(
                "UPDATE operations SET operation = ? WHERE name = ?", (text, _with_number(name))
            )
            if operation.done:
                self._cancels.pop(_with_number(name), None)
            self._database.after_commit(self._notify)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def undone(self) -> list[DynamicMessage]:
        """Return the operations that are not done. After a restart, their services have to resume them."""
        rows = self._database.rows("SELECT operation FROM operations ORDER BY number")
        return [each for each in (_operation(row["operation"]) for row in rows) if not each.done]

    def clear(self) -> None:
        """Remove all operations."""
        self._database.execute("DELETE FROM operations")

    def bindings(self) -> Mapping[str, Binding]:
        """Return the bindings of the methods of google.longrunning.Operations."""
        return {
            f"{descriptors.OPERATIONS}.GetOperation": self._get,
            f"{descriptors.OPERATIONS}.WaitOperation": self._wait,
            f"{descriptors.OPERATIONS}.DeleteOperation": self._delete,
            f"{descriptors.OPERATIONS}.CancelOperation": self._cancel,
            f"{descriptors.OPERATIONS}.ListOperations": self._list,
        }

    def _get(self, request: DynamicMessage) -> DynamicMessage:
        row = self._row(request.name)
        if row is None:
            raise RpcError("NOT_FOUND", f"The operation {request.name} does not exist.")
        return _operation(row["operation"])

    def _row(self, name: str) -> Any:
        """Return the row of an operation, or None.

        An operation below a resource is also found below its location, because gcloud prints such a name for
        operations of a persistent resource.
        """
        row = self._database.row(
            "SELECT name, operation FROM operations WHERE name = ?", (_with_number(name),)
        )
        below_place = _BELOW_PLACE.fullmatch(_with_number(name))
        if row is not None or below_place is None:
            return row
        place, number = below_place.groups()
        return self._database.row(
            "SELECT name, operation FROM operations WHERE name > ? AND name < ? AND number = ?",
            (f"{place}/", f"{place}0", int(number)),
        )

    def _delete(self, request: DynamicMessage) -> DynamicMessage:
        row = self._row(request.name)
        if row is None or not self._database.execute("DELETE FROM operations WHERE name = ?", (row["name"],)):
            raise RpcError("NOT_FOUND", f"The operation {request.name} does not exist.")
        return descriptors.empty()

    def _wait(self, request: DynamicMessage) -> DynamicMessage:
        wanted = request.timeout.ToNanoseconds() / 1e9 if request.HasField("timeout") else _LONGEST_WAIT
        until = machine_clock.monotonic() + min(wanted, _LONGEST_WAIT)
        with self._changed:
            while True:
                found = self._get(request)
                left = until - machine_clock.monotonic()
                if found.done or left <= 0:
                    return found
                self._changed.wait(left)

    def _cancel(self, request: DynamicMessage) -> DynamicMessage:
        """Cancel an operation, best effort as in the service. One that is done does not change."""
        operation = self._get(request)
        if operation.done:
            raise RpcError(
                "FAILED_PRECONDITION", f"The operation {request.name} is done and cannot be cancelled."
            )
        if cancel := self._cancels.get(_with_number(operation.name)):
            cancel()
        return descriptors.empty()

    def _list(self, request: DynamicMessage) -> DynamicMessage:
        if request.filter:
            raise RpcError("UNIMPLEMENTED", "The emulator does not implement filter of ListOperations.")
        size = page_size(request.page_size, default=_PAGE, most=_PAGE)
        after = request.page_token or "0"
        if not (after.isascii() and after.isdigit() and len(after) < _DIGITS and int(after) < 1 << 63):
            raise RpcError("INVALID_ARGUMENT", f"The page token {after!r} was not given by this method.")
        rows = self._database.rows(
            "SELECT number, operation FROM operations WHERE parent = ? AND number > ? "
            "ORDER BY number LIMIT ?",
            (_with_number(request.name), int(after), size + 1),
        )
        answer = descriptors.message("google.longrunning.ListOperationsResponse")
        answer.operations.extend(_operation(row["operation"]) for row in rows[:size])
        if len(rows) > size:
            answer.next_page_token = str(rows[size - 1]["number"])
        return answer


def _operation(text: str) -> DynamicMessage:
    operation = descriptors.message("google.longrunning.Operation")
    json_format.Parse(text, operation, descriptor_pool=descriptors.pool())
    return operation


def _with_number(name: str) -> str:
    projects, _, rest = name.partition("/")
    project, _, rest = rest.partition("/")
    return f"{projects}/{project_number(project)}/{rest}"
