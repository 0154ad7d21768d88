"""The stored workflows and their executions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc import descriptors
from vertex_emulator.workflows.interpreter import State

WORKFLOW = "google.cloud.workflows.v1.Workflow"
EXECUTION = "google.cloud.workflows.executions.v1.Execution"
ACTIVE, SUCCEEDED, FAILED, CANCELLED = 1, 2, 3, 4

_SCHEMA = (
    """
    CREATE TABLE workflows (
        project TEXT NOT NULL,
        project_number TEXT NOT NULL,
        location TEXT NOT NULL,
        id TEXT NOT NULL,
        message BLOB NOT NULL,
        PRIMARY KEY (project_number, location, id)
    );
    CREATE TABLE workflow_executions (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        project TEXT NOT NULL,
        project_number TEXT NOT NULL,
        location TEXT NOT NULL,
        workflow TEXT NOT NULL,
        message BLOB NOT NULL,
        source TEXT NOT NULL,
        active INTEGER NOT NULL,
        wake_at INTEGER,
        position INTEGER NOT NULL,
        variables TEXT NOT NULL
    );
    CREATE INDEX workflow_executions_of ON workflow_executions (project_number, location, workflow, number);
    """,
)


@dataclass(frozen=True, kw_only=True)
class StoredWorkflow:
    """A workflow."""

    place: Place
    id: str
    message: Any

    @property
    def name(self) -> str:
        return workflow_name(self.place, self.id)


@dataclass(frozen=True, kw_only=True)
class StoredExecution:
    """An execution of the `source` that its workflow had at its start.

    `wake_at` is the time at which it goes on, in microseconds since 1970 on the emulator's clock, None while
    it runs and after its end.
    """

    id: str
    place: Place
    workflow: str
    message: Any
    source: str
    wake_at: int | None
    state: State = field(default_factory=State)
    number: int = 0

    @property
    def is_active(self) -> bool:
        return bool(self.message.state == ACTIVE)


def workflow_name(place: Place, workflow_id: str) -> str:
    """Return the full name of a workflow, with the project as the client gave it."""
    return f"{place.as_asked}/workflows/{workflow_id}"


class WorkflowStore:
    """All workflows and executions."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("workflows", _SCHEMA)

    def insert(self, workflow: StoredWorkflow) -> bool:
        """Add a workflow. Return False if its name is in use."""
        place = workflow.place
        try:
            self._database.execute(
                "INSERT INTO workflows VALUES (?, ?, ?, ?, ?)",
                (
                    place.project,
                    place.number,
                    place.location,
                    workflow.id,
                    workflow.message.SerializeToString(),
                ),
            )
        except sqlite3.IntegrityError:
            return False
        return True

    def get(self, place: Place, workflow_id: str) -> StoredWorkflow | None:
        """Return a workflow, or None."""
        row = self._database.row(
            "SELECT * FROM workflows WHERE project_number = ? AND location = ? AND id = ?",
            (place.number, place.location, workflow_id),
        )
        return None if row is None else _workflow(row)

    def of_place(self, place: Place) -> Sequence[StoredWorkflow]:
        """Return the workflows of a location, by name."""
        rows = self._database.rows(
            "SELECT * FROM workflows WHERE project_number = ? AND location = ? ORDER BY id",
            (place.number, place.location),
        )
        return [_workflow(row) for row in rows]

    def replace(self, workflow: StoredWorkflow) -> None:
        """Replace the message of a workflow."""
        self._database.execute(
            "UPDATE workflows SET message = ? WHERE project_number = ? AND location = ? AND id = ?",
            (
                workflow.message.SerializeToString(),
                workflow.place.number,
                workflow.place.location,
                workflow.id,
            ),
        )

    def delete(self, place: Place, workflow_id: str) -> None:
        """Delete a workflow with its executions."""
        with self._database.transaction() as connection:
            for statement in (
                "DELETE FROM workflows WHERE project_number = ? AND location = ? AND id = ?",
                "DELETE FROM workflow_executions WHERE project_number = ? AND location = ? AND workflow = ?",
            ):
                connection.execute(statement, (place.number, place.location, workflow_id))

    def add(self, execution: StoredExecution) -> None:
        """Add an execution."""
        self._database.execute(
            "INSERT INTO workflow_executions (id, project, project_number, location, workflow, message, "
            "source, active, wake_at, position, variables) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                execution.id,
                execution.place.project,
                execution.place.number,
                execution.place.location,
                execution.workflow,
                execution.message.SerializeToString(),
                execution.source,
                int(execution.is_active),
                execution.wake_at,
                execution.state.position,
                json.dumps(execution.state.variables),
            ),
        )

    def execution(self, execution_id: str) -> StoredExecution | None:
        """Return an execution, or None."""
        row = self._database.row("SELECT * FROM workflow_executions WHERE id = ?", (execution_id,))
        return None if row is None else _execution(row)

    def executions(self, place: Place, workflow_id: str) -> Sequence[StoredExecution]:
        """Return the executions of a workflow, newest first."""
        rows = self._database.rows(
            "SELECT * FROM workflow_executions WHERE project_number = ? AND location = ? AND workflow = ? "
            "ORDER BY number DESC",
            (place.number, place.location, workflow_id),
        )
        return [_execution(row) for row in rows]

    def active(self) -> Sequence[StoredExecution]:
        """Return all executions that have not ended, oldest first."""
        rows = self._database.rows("SELECT * FROM workflow_executions WHERE active = 1 ORDER BY number")
        return [_execution(row) for row in rows]

    def change(
        self, execution_id: str, change: Callable[[StoredExecution], StoredExecution]
    ) -> StoredExecution | None:
        """Replace an execution by what `change` makes of it. Return it, None if it is gone."""
        with self._database.transaction() as connection:
            row = connection.execute(
                "SELECT * FROM workflow_executions WHERE id = ?", (execution_id,)
            ).fetchone()
            if row is None:
                return None
            new = change(_execution(row))
            connection.execute(
                "UPDATE workflow_executions SET message = ?, active = ?, wake_at = ?, position = ?, "
                "variables = ? WHERE id = ?",
                (
                    new.message.SerializeToString(),
                    int(new.is_active),
                    new.wake_at,
                    new.state.position,
                    json.dumps(new.state.variables),
                    execution_id,
                ),
            )
        return new

    def clear(self) -> None:
        """Delete all workflows and executions."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM workflows")
            connection.execute("DELETE FROM workflow_executions")


def copy_of(message: Any) -> Any:
    """Return a copy of a message."""
    new = descriptors.message(message.DESCRIPTOR.full_name)
    new.CopyFrom(message)
    return new


def _workflow(row: sqlite3.Row) -> StoredWorkflow:
    message = descriptors.message(WORKFLOW)
    message.ParseFromString(row["message"])
    return StoredWorkflow(
        place=Place(project=row["project"], location=row["location"]), id=row["id"], message=message
    )


def _execution(row: sqlite3.Row) -> StoredExecution:
    message = descriptors.message(EXECUTION)
    message.ParseFromString(row["message"])
    return StoredExecution(
        id=row["id"],
        place=Place(project=row["project"], location=row["location"]),
        workflow=row["workflow"],
        message=message,
        source=row["source"],
        wake_at=row["wake_at"],
        state=State(position=row["position"], variables=json.loads(row["variables"])),
        number=row["number"],
    )
