"""The one exception of this package."""

from __future__ import annotations

__all__ = ["ClusterError"]


class ClusterError(ValueError):
    """An environment variable that describes the job cannot be used.

    ``str(error)`` is one line: the variable, the place in its JSON, what is there, and what to do.
    """

    def __init__(self, *, variable: str, path: str, message: str, remedy: str) -> None:
        self.variable = variable
        self.path = path
        """Place inside the JSON, such as ``cluster.workerpool1[0]``; empty for the whole value."""
        self.message = message
        self.remedy = remedy
        where = f"{variable}: {path}" if path else variable
        super().__init__(f"{where} {message}. {remedy}.")
