"""What is wrong with data that somebody wants to train with."""

from __future__ import annotations


class DataError(Exception):
    """`code` is a canonical code by name; the message names the file or column and says what to do."""

    def __init__(self, message: str, *, code: str = "INVALID_ARGUMENT") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
