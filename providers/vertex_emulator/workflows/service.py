"""The services Workflows and Executions: their methods."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.own_api import Call
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, RpcError
from vertex_emulator.rpc.operations import Operations
from vertex_emulator.rpc.paging import page_size, page_token, read_page_token
from vertex_emulator.vertex import listing, names
from vertex_emulator.vertex.listing import Field
from vertex_emulator.vertex.service import Archived, Service
from vertex_emulator.workflows import interpreter
from vertex_emulator.workflows.executions import Executions, ended
from vertex_emulator.workflows.interpreter import DefinitionError, State
from vertex_emulator.workflows.store import (
    ACTIVE,
    CANCELLED,
    EXECUTION,
    WORKFLOW,
    StoredExecution,
    StoredWorkflow,
    WorkflowStore,
    copy_of,
    workflow_name,
)

_ID = re.compile(r"[a-zA-Z](?:[a-zA-Z0-9_-]{0,62}[a-zA-Z0-9])?")
_LARGEST_SOURCE = 128 << 10
_OUTPUT_ONLY = ("state", "revision_id", "create_time", "update_time", "revision_create_time", "state_error")
_STATES = {
    0: "STATE_UNSPECIFIED",
    ACTIVE: "ACTIVE",
    2: "SUCCEEDED",
    3: "FAILED",
    CANCELLED: "CANCELLED",
    5: "UNAVAILABLE",
    6: "QUEUED",
}
_FIELDS = {"state": Field(value=lambda one: _STATES[one.message.state], known=tuple(_STATES.values()))}
_PAGE, _MAX_PAGE = 100, 1000
_BASIC = 1
"""The view of a list: without argument and result."""


class WorkflowService(Service):
    """The workflows of one emulator; `call` reaches the emulator's own APIs."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        scheduler: Scheduler,
        operations: Operations,
        call: Call,
    ) -> None:
        self._clock = clock
        self._operations = operations
        self._store = WorkflowStore(database)
        self._executions = Executions(self._store, clock, scheduler, call)

    # For the server

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their full names."""
        return {
            f"{descriptors.WORKFLOWS}.CreateWorkflow": self.create,
            f"{descriptors.WORKFLOWS}.GetWorkflow": self.get,
            f"{descriptors.WORKFLOWS}.ListWorkflows": self.list,
            f"{descriptors.WORKFLOWS}.UpdateWorkflow": self.update,
            f"{descriptors.WORKFLOWS}.DeleteWorkflow": self.delete,
            f"{descriptors.EXECUTIONS}.CreateExecution": self.execute,
            f"{descriptors.EXECUTIONS}.GetExecution": self.get_execution,
            f"{descriptors.EXECUTIONS}.ListExecutions": self.list_executions,
            f"{descriptors.EXECUTIONS}.CancelExecution": self.cancel_execution,
        }

    def start(self) -> None:
        """Let sleeping executions go on after a restart."""
        self._executions.recover()

    def live(self) -> int:
        """Return the number of executions that have not ended."""
        return len(self._store.active())

    def archived(self) -> Sequence[Archived]:
        """Return nothing: an archive leaves workflows out, as it does the schedules that call them."""
        return ()

    def remove_all(self) -> None:
        """Delete all workflows and executions."""
        self._store.clear()

    # Workflows

    def create(self, request: Any) -> Message:
        """Answer CreateWorkflow."""
        place = names.parse_parent(request.parent)
        if not _ID.fullmatch(request.workflow_id):
            raise RpcError(
                "INVALID_ARGUMENT",
                f"workflow_id {request.workflow_id!r} must have 1 to 64 letters, digits, underscores and "
                "hyphens, begin with a letter and end with a letter or digit.",
            )
        workflow = copy_of(request.workflow)
        for field in _OUTPUT_ONLY:
            workflow.ClearField(field)
        _check(workflow)
        now = times.now(self._clock)
        workflow.name = workflow_name(place, request.workflow_id)
        workflow.create_time.FromJsonString(now)
        self._revise(workflow, 1, now)
        stored = StoredWorkflow(place=place, id=request.workflow_id, message=workflow)
        if not self._store.insert(stored):
            raise RpcError("ALREADY_EXISTS", f"Resource '{workflow.name}' already exists.")
        return self._done(stored, "create")

    def get(self, request: Any) -> Message:
        """Answer GetWorkflow."""
        found: Message = self._find(request.name).message
        return found

    def list(self, request: Any) -> Message:
        """Answer ListWorkflows, by name. Filters and orders are not implemented."""
        for field in ("filter", "order_by"):
            if getattr(request, field):
                raise RpcError("UNIMPLEMENTED", f"The emulator does not implement {field} of ListWorkflows.")
        place = names.parse_parent(request.parent)
        answer = descriptors.message("google.cloud.workflows.v1.ListWorkflowsResponse")
        position = read_page_token(request.page_token, query=str(place))
        size = page_size(request.page_size, default=_PAGE, most=_MAX_PAGE)
        found = [one for one in self._store.of_place(place) if position is None or one.id > str(position[0])]
        answer.workflows.extend(one.message for one in found[:size])
        if len(found) > size:
            answer.next_page_token = page_token([found[size - 1].id, 0], query=str(place))
        listed: Message = answer
        return listed

    def update(self, request: Any) -> Message:
        """Answer UpdateWorkflow: a changed definition or service account makes a new revision."""
        stored = self._find(request.workflow.name)
        workflow = copy_of(stored.message)
        paths = [path.partition(".")[0] for path in request.update_mask.paths] or [
            field.name for field, _ in request.workflow.ListFields()
        ]
        for path in paths:
            if path not in workflow.DESCRIPTOR.fields_by_name:
                raise RpcError("INVALID_ARGUMENT", f"update_mask has the unknown field {path}.")
            if path in ("name", *_OUTPUT_ONLY):
                continue
            workflow.ClearField(path)
            only = descriptors.message(WORKFLOW)
            only.CopyFrom(request.workflow)
            for field, _ in request.workflow.ListFields():
                if field.name != path:
                    only.ClearField(field.name)
            workflow.MergeFrom(only)
        _check(workflow)
        number = int(stored.message.revision_id.partition("-")[0])
        new = bool({"source_contents", "service_account"} & set(paths))
        self._revise(workflow, number + 1 if new else number, times.now(self._clock), new=new)
        changed = replace(stored, message=workflow)
        self._store.replace(changed)
        return self._done(changed, "update")

    def delete(self, request: Any) -> Message:
        """Answer DeleteWorkflow, which deletes the executions as well."""
        stored = self._find(request.name)
        self._store.delete(stored.place, stored.id)
        return self._done(stored, "delete", empty=True)

    # Executions

    def execute(self, request: Any) -> Message:
        """Answer CreateExecution: the execution begins in the background."""
        workflow = self._find(request.parent)
        try:
            argument = json.loads(request.execution.argument or "null")
        except ValueError:
            raise RpcError("INVALID_ARGUMENT", "execution.argument is not JSON.") from None
        execution_id = str(uuid.uuid4())
        source = workflow.message.source_contents
        program = interpreter.read(source)
        message = descriptors.message(EXECUTION)
        message.name = f"{workflow.name}/executions/{execution_id}"
        message.argument = request.execution.argument
        message.labels.update(request.execution.labels)
        message.state = ACTIVE
        message.workflow_revision_id = workflow.message.revision_id
        message.start_time.FromJsonString(times.now(self._clock))
        self._store.add(
            StoredExecution(
                id=execution_id,
                place=workflow.place,
                workflow=workflow.id,
                message=message,
                source=source,
                wake_at=self._clock.microseconds(),
                state=State(variables={program.parameter: argument} if program.parameter else {}),
            )
        )
        self._executions.wake()
        answer: Message = message
        return answer

    def get_execution(self, request: Any) -> Message:
        """Answer GetExecution."""
        found: Message = self._find_execution(request.name).message
        return found

    def list_executions(self, request: Any) -> Message:
        """Answer ListExecutions, newest first. Filters are those of the state."""
        if request.order_by:
            raise RpcError("UNIMPLEMENTED", "The emulator does not implement order_by of ListExecutions.")
        workflow = self._find(request.parent)
        matches = listing.record_filter(request.filter, _FIELDS)
        size = page_size(request.page_size, default=_PAGE, most=_MAX_PAGE)
        query = json.dumps([workflow.name, request.filter])
        position = read_page_token(request.page_token, query=query)
        found = [
            one
            for one in self._store.executions(workflow.place, workflow.id)
            if matches(one) and (position is None or one.number < int(position[0]))
        ]
        answer = descriptors.message("google.cloud.workflows.executions.v1.ListExecutionsResponse")
        for one in found[:size]:
            message = copy_of(one.message)
            if request.view in (0, _BASIC):
                for field in ("argument", "result"):
                    message.ClearField(field)
            answer.executions.append(message)
        if len(found) > size:
            answer.next_page_token = page_token([found[size - 1].number, 0], query=query)
        listed: Message = answer
        return listed

    def cancel_execution(self, request: Any) -> Message:
        """Answer CancelExecution."""
        found = self._find_execution(request.name)
        now = times.now(self._clock)

        def change(one: StoredExecution) -> StoredExecution:
            if not one.is_active:
                raise RpcError("FAILED_PRECONDITION", f"The execution {request.name} has ended.")
            return replace(one, message=ended(one.message, CANCELLED, now), wake_at=None)

        changed = self._store.change(found.id, change)
        answer: Message = (changed or found).message
        return answer

    # Internal

    def _revise(self, workflow: Any, number: int, now: str, *, new: bool = True) -> None:
        workflow.state = 1
        workflow.update_time.FromJsonString(now)
        if new:
            workflow.revision_id = f"{number:06d}-{uuid.uuid4().hex[:3]}"
            workflow.revision_create_time.FromJsonString(now)

    def _done(self, stored: StoredWorkflow, verb: str, *, empty: bool = False) -> Message:
        operation = descriptors.message("google.longrunning.Operation")
        operation.name = f"{stored.place.as_asked}/operations/{names.new_id()}"
        operation.done = True
        metadata = descriptors.message("google.cloud.workflows.v1.OperationMetadata")
        metadata.target, metadata.verb, metadata.api_version = stored.name, verb, "v1"
        metadata.create_time.FromJsonString(times.now(self._clock))
        metadata.end_time.CopyFrom(metadata.create_time)
        operation.metadata.Pack(metadata)
        operation.response.Pack(descriptors.message("google.protobuf.Empty") if empty else stored.message)
        self._operations.add(operation)
        answer: Message = operation
        return answer

    def _find(self, name: str) -> StoredWorkflow:
        place, workflow_id = names.parse_name(name, "workflows")
        found = self._store.get(place, workflow_id)
        if found is None:
            raise RpcError("NOT_FOUND", f"workflow {name} does not exist")
        return found

    def _find_execution(self, name: str) -> StoredExecution:
        workflow, _, execution_id = name.partition("/executions/")
        place, workflow_id = names.parse_name(workflow, "workflows")
        found = self._store.execution(execution_id)
        if found is None or (found.workflow, found.place.number, found.place.location) != (
            workflow_id,
            place.number,
            place.location,
        ):
            raise RpcError("NOT_FOUND", f"execution {name} does not exist")
        return found


def _check(workflow: Any) -> None:
    """Check a workflow's definition. Raises `RpcError`."""
    source = workflow.source_contents
    if len(source.encode()) > _LARGEST_SOURCE:
        raise RpcError("INVALID_ARGUMENT", f"source_contents has more than {_LARGEST_SOURCE >> 10} KiB.")
    try:
        interpreter.read(source)
    except DefinitionError as error:
        code = "UNIMPLEMENTED" if error.unsupported else "INVALID_ARGUMENT"
        raise RpcError(code, f"Invalid definition (source_contents): {error}.") from None
