"""A step hook for an emulator in this process; it runs a test's code right before a step of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager


class Killed(BaseException):
    """A substitute for SIGKILL in this process: no code handles it."""


class Steps:
    """The step hook, for the setting `step_hook` of an emulator."""

    def __init__(self) -> None:
        self._actions: dict[str, Callable[[], object]] = {}

    def __call__(self, step: str) -> None:
        if (action := self._actions.get(step)) is not None:
            action()

    @contextmanager
    def doing(self, step: str, action: Callable[[], object]) -> Iterator[None]:
        """Call `action` right before each occurrence of the step, inside the block."""
        self._actions[step] = action
        try:
            yield
        finally:
            del self._actions[step]

    def killing_at(self, step: str) -> AbstractContextManager[None]:
        """Raise `Killed` right before the step, inside the block."""
        return self.doing(step, _die)


def _die() -> None:
    raise Killed
