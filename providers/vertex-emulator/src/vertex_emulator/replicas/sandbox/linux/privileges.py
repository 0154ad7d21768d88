"""Give up the rights of this process for ever, just before it executes a replica's program (Linux).

Called in a child between fork and exec, like `namespaces`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from dataclasses import dataclass
from pathlib import Path

from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.linux import seccomp

_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECUREBITS = 0xEF
"""NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, all locked, and KEEP_CAPS locked off."""
_NO_SETUID_FIXUP = 0x4
_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")
_DEFAULT_LAST_CAPABILITY = 40
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91, "riscv64": 91, "ppc64le": 184, "s390x": 185}
_SYS_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
_KEYCTL_JOIN_SESSION_KEYRING = 1
_OOM_SCORE = "500"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The bounds of one replica: `processes` counts its threads too.

    Each of its processes can allocate as much memory as the machine has.
    """

    processes: int


DEFAULT_LIMITS = Limits(processes=4096)
_PAGES = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")


def act_as(user: int, group: int) -> None:
    """Create files as another user from here on, with the rights of root (Linux)."""
    ns.prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP)
    ns.libc().setfsgid(ctypes.c_uint(group))
    ns.libc().setfsuid(ctypes.c_uint(user))


def limit(limits: Limits, *, own_count: bool) -> None:
    """Bound the processes and the memory of this process and its descendants.

    `own_count`: a user namespace counts its processes apart from the user's others (Linux 5.14). If the
    machine runs out of memory, the kernel ends a replica before other processes.
    """
    if own_count:
        _limit(resource.RLIMIT_NPROC, limits.processes)
    _limit(resource.RLIMIT_CORE, 0)  # the machine's handler of core dumps may run as root
    with contextlib.suppress(OSError, ValueError):
        size, count = map(os.sysconf, _PAGES)
        _limit(resource.RLIMIT_DATA, size * count)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)


def drop(*, user: tuple[int, int] | None = None) -> list[str]:
    """Give up all capabilities and the way to new ones, and filter the system calls.

    `user`: become this user and group first. Return lines for the log, of what this machine does not have.
    Raises `OSError`.
    """
    _leave_keyring()
    for capability in range(_last_capability() + 1):
        with contextlib.suppress(OSError):  # without CAP_SETPCAP the set is empty
            ns.prctl(_PR_CAPBSET_DROP, capability)
    with contextlib.suppress(OSError):
        ns.prctl(_PR_SET_SECUREBITS, _SECUREBITS)
    if user is not None:
        os.setresgid(user[1], user[1], user[1])
        os.setresuid(user[0], user[0], user[0])
    _clear_capabilities()
    ns.forbid_new_privileges()
    try:
        seccomp.install()
    except (OSError, LookupError) as error:
        return [f"Emulator: WARNING: the system calls of this replica are not filtered: {error}."]
    return []


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (bound, bound))


def _last_capability() -> int:
    try:
        return int(_LAST_CAPABILITY.read_text())
    except (OSError, ValueError):
        return _DEFAULT_LAST_CAPABILITY


def _clear_capabilities() -> None:
    with contextlib.suppress(OSError):  # kernels before 4.3 have no ambient set
        ns.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    number = _SYS_CAPSET.get(os.uname().machine)
    if number is None:
        raise OSError(f"capset is not known for the machine type {os.uname().machine}")
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()
    ns.checked(ns.libc().syscall(ctypes.c_long(number), header, sets), "capset")


def _leave_keyring() -> None:
    """Leave the session's keyring of the emulator for a new one; a kernel without keyrings has none."""
    number = _SYS_KEYCTL.get(os.uname().machine)
    if number is not None:
        ns.libc().syscall(ctypes.c_long(number), ctypes.c_int(_KEYCTL_JOIN_SESSION_KEYRING), None)
