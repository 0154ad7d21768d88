"""The states of a job resource: their names and numbers in an enum of the API, and the transitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage


@dataclass(frozen=True, kw_only=True)
class States:
    """The states of the API's `enum` (a full name).

    `transitions` has all non-terminal states of the emulator.
    """

    enum: str
    pending: str
    running: str
    terminal: frozenset[str]
    transitions: Mapping[str, frozenset[str]]

    def names(self) -> tuple[str, ...]:
        """Return all states of the API; the emulator uses only some of them."""
        return tuple(self._enum().values_by_name)

    def state_of(self, message: DynamicMessage) -> str:
        """Return the name of a message's state."""
        name: str = self._enum().values_by_number[message.state].name
        return name

    def number(self, state: str) -> int:
        """Return the number of a state."""
        number: int = self._enum().values_by_name[state].number
        return number

    def begin(self, message: DynamicMessage, *, at: str) -> None:
        """Initialize the state and times of a message that is created at the time `at`."""
        message.state = self.number(self.pending)
        message.create_time.FromJsonString(at)
        message.update_time.FromJsonString(at)

    def enter(
        self, message: DynamicMessage, state: str, *, at: str, error: Mapping[str, Any] | None = None
    ) -> bool:
        """Put the message into `state` at the time `at` and set its times.

        Return False, and change nothing, if there is no such transition: a report of a supervisor may arrive
        after the job was cancelled. `error` is a google.rpc.Status in its JSON form.
        """
        if state not in self.transitions.get(self.state_of(message), frozenset()):
            return False
        message.state = self.number(state)
        message.update_time.FromJsonString(at)
        if state == self.running:
            message.start_time.FromJsonString(at)
        if state in self.terminal:
            message.end_time.FromJsonString(at)
        if error is not None:
            message.error.code = error["code"]
            message.error.message = error["message"]
        return True

    def _enum(self) -> Any:
        return descriptors.pool().FindEnumTypeByName(self.enum)
