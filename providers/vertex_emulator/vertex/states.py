"""The states of what runs: their names and numbers in an enum of the API, and the ways between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vertex_emulator.rpc import descriptors


@dataclass(frozen=True, kw_only=True)
class States:
    """`enum` is the full name of the API's; `transitions` has the states that a resource here can leave."""

    enum: str
    pending: str
    running: str
    terminal: frozenset[str]
    transitions: Mapping[str, frozenset[str]]

    def names(self) -> tuple[str, ...]:
        """All states of the API; resources here come into some of them only."""
        return tuple(self._enum().values_by_name)

    def state_of(self, message: Any) -> str:
        """The name of a message's state."""
        name: str = self._enum().values_by_number[message.state].name
        return name

    def number(self, state: str) -> int:
        """The number of a state."""
        number: int = self._enum().values_by_name[state].number
        return number

    def begin(self, message: Any, *, at: str) -> None:
        """Make the message one that was created at the time `at`."""
        message.state = self.number(self.pending)
        message.create_time.FromJsonString(at)
        message.update_time.FromJsonString(at)

    def enter(self, message: Any, state: str, *, at: str, error: Mapping[str, Any] | None = None) -> bool:
        """Put the message into `state` at the time `at` and stamp its times.

        False, and nothing changes, where no way leads there: what a supervisor told before a job was
        cancelled arrives after the cancellation. `error` is a google.rpc.Status in its JSON form.
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
