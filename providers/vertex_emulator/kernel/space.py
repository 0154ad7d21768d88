"""Telling a full disk from other errors."""

from __future__ import annotations

import errno
import sqlite3

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_out_of_space(error: BaseException) -> bool:
    """Whether the disk, the user's quota, or the largest size of a file is what failed."""
    if isinstance(error, OSError):
        return error.errno in _NO_SPACE
    return isinstance(error, sqlite3.OperationalError) and "full" in str(error)
