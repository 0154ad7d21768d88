"""The limit of open files of a process (`ulimit -n`)."""

from __future__ import annotations

import errno
import resource

LEAST = 128
"""Files that the emulator, and the supervisor of a small job, may have to open at the same time."""

_USUAL = 1024
_LEAST_CONNECTIONS = 4


def problem() -> str:
    """Raise the limit of this process if it is low. Return "", or what to do if that is not allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= LEAST:
        return ""
    if hard == resource.RLIM_INFINITY or hard >= LEAST:
        usual = _USUAL if hard == resource.RLIM_INFINITY else min(_USUAL, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (usual, hard))
        return ""
    return (
        f"The emulator needs {LEAST} open files at least, and this shell allows {hard} (`ulimit -n`). In a "
        f"new shell, run `ulimit -n {_USUAL}` before you start it. For a container, use `--ulimit "
        f"nofile={_USUAL}`."
    )


def remedy(error: OSError) -> str:
    """Return what to do if an error is due to the limit, as a sentence, or ""."""
    if error.errno != errno.EMFILE:
        return ""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        f" Each process may open {soft} files here (`ulimit -n`): run `vertex-emulator stop`, set a "
        f"higher limit such as `ulimit -n {_USUAL * 4}`, and create the job again."
    )


def connections_for(*, most: int, one_of: int) -> int:
    """Return a number of connections, at most one for `one_of` files, so that the rest has files too."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else max(_LEAST_CONNECTIONS, min(most, soft // one_of))
