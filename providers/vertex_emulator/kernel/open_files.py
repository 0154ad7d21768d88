"""How many connections fit into the files that a process may open."""

from __future__ import annotations

import resource

_LEAST = 4


def connections_for(*, most: int, one_of: int) -> int:
    """Return a number of connections, at most one for `one_of` files, so that the rest has files too."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else max(_LEAST, min(most, soft // one_of))
