"""The one exception of the chores."""

from __future__ import annotations


class ChoreError(Exception):
    """A chore cannot go on. The text says what happened and what to do; it is printed as it is."""

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code
