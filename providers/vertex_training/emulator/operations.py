"""Long-running operations (google.longrunning.Operations), shared by the services that answer with one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from vertex_training.emulator import descriptors
from vertex_training.emulator.database import Database
from vertex_training.emulator.projects import project_number
from vertex_training.emulator.rpc import Binding, RpcError

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
_PAGE = 100
_DIGITS = 20


class Operations:
    """The operations of all services, found by the project's id and by its number."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("operations", _SCHEMA)

    def add(self, operation: Message) -> None:
        """Keep an operation; its `name` ends in `/operations/NUMBER`."""
        name: str = operation.name  # type: ignore[attr-defined]
        parent, _, number = _with_number(name).rpartition("/operations/")
        text = json_format.MessageToJson(operation, descriptor_pool=descriptors.pool(), indent=None)
        self._database.execute(
            "INSERT INTO operations VALUES (?, ?, ?, ?)", (_with_number(name), parent, int(number), text)
        )

    def clear(self) -> None:
        """Forget all."""
        self._database.execute("DELETE FROM operations")

    def bindings(self) -> Mapping[str, Binding]:
        """The methods of google.longrunning.Operations."""
        return {
            f"{descriptors.OPERATIONS}.GetOperation": self._get,
            f"{descriptors.OPERATIONS}.WaitOperation": self._get,  # all of ours are done from the start
            f"{descriptors.OPERATIONS}.DeleteOperation": self._delete,
            f"{descriptors.OPERATIONS}.CancelOperation": self._cancel,
            f"{descriptors.OPERATIONS}.ListOperations": self._list,
        }

    def _get(self, request: Any) -> Message:
        row = self._database.row(
            "SELECT operation FROM operations WHERE name = ?", (_with_number(request.name),)
        )
        if row is None:
            raise RpcError("NOT_FOUND", f"The operation {request.name} does not exist.")
        return _operation(row["operation"])

    def _delete(self, request: Any) -> Message:
        if not self._database.execute("DELETE FROM operations WHERE name = ?", (_with_number(request.name),)):
            raise RpcError("NOT_FOUND", f"The operation {request.name} does not exist.")
        empty: Message = descriptors.message("google.protobuf.Empty")
        return empty

    def _cancel(self, request: Any) -> Message:
        self._get(request)
        raise RpcError(
            "FAILED_PRECONDITION", f"The operation {request.name} is done and cannot be cancelled."
        )

    def _list(self, request: Any) -> Message:
        if request.filter:
            raise RpcError("UNIMPLEMENTED", "The emulator does not implement filter of ListOperations.")
        size = min(request.page_size or _PAGE, _PAGE)
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
        found: Message = answer
        return found


def _operation(text: str) -> Message:
    operation: Message = descriptors.message("google.longrunning.Operation")
    return json_format.Parse(text, operation, descriptor_pool=descriptors.pool())


def _with_number(name: str) -> str:
    projects, _, rest = name.partition("/")
    project, _, rest = rest.partition("/")
    return f"{projects}/{project_number(project)}/{rest}"
