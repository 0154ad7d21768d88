"""A filter of system calls that no replica needs, as container runtimes have it (seccomp, Linux).

A deny list with the semantics of the default profile of Docker and Podman for a container without
capabilities: mounts, namespaces, kernel modules, keyrings, BPF, io_uring, memory policies, sockets to the
hypervisor and the like answer EPERM. `clone3`, whose flags a filter cannot read, answers ENOSYS, so that the
C library uses `clone`. So does every call that is newer than the filter. In addition no file gets the
set-user-id bit, as with systemd's `RestrictSUIDSGID`: in a folder that is shared with the machine, it would
act for the machine's user.

The filter is assembled here: the packages on PyPI are bindings of libseccomp, which few machines have.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
import struct
from collections.abc import Sequence

from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.linux.namespaces import (
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
)

_NAMESPACES = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS | 0x02000000 | 0x08000000 | 0x40000000
_NEW_TIME = 0x80

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_DENIED = {
    # name: (x86_64, aarch64)
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "get_mempolicy": (239, 236),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "vhangup": (153, 58),
}

_HIDDEN = {"clone3": (435, 435), "openat2": (437, 437)}
"""Calls whose arguments a filter cannot read. Programs fall back to the older ones."""

_FLAGS = {"clone": ((56, 220), 0, _NAMESPACES), "unshare": ((272, 97), 0, _NAMESPACES | _NEW_TIME)}
"""Calls that are denied with one of some bits in an argument: numbers, argument, bits."""

_Values = dict[str, tuple[tuple[int, int], int, tuple[int, ...]]]

_DENIED_VALUES: _Values = {"socket": ((41, 198), 0, (40,))}
"""Calls that are denied with one of some values of an argument: sockets to the hypervisor (AF_VSOCK)."""

_ALLOWED_VALUES: _Values = {"personality": ((135, 92), 0, (0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF))}
"""Calls that are denied without one of some values: other execution domains weaken the address space."""

_NEWEST = 467
"""The highest number of a system call that this filter was written for, on both machine types."""

_MODES = {
    "chmod": ((90, None), 1),
    "creat": ((85, None), 1),
    "fchmod": ((91, 52), 1),
    "fchmodat": ((268, 53), 2),
    "fchmodat2": ((452, 452), 2),
    "mknod": ((133, None), 1),
    "mknodat": ((259, 33), 2),
}
"""Calls with the mode of a file: numbers, argument."""

_OPEN = {"open": ((2, None), 1, 2), "openat": ((257, 56), 2, 3)}
"""Calls with flags and the mode of a new file: numbers, argument of the flags, argument of the mode."""

_CREATES = os.O_CREAT | (getattr(os, "O_TMPFILE", 0) & ~os.O_DIRECTORY)

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_PR_SET_SECCOMP, _FILTER_MODE = 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


@functools.cache
def program(machine: str) -> bytes:
    """Return the filter for a machine type as BPF instructions. Raises `LookupError` for another type."""
    column = list(_AUDIT_ARCH).index(machine) if machine in _AUDIT_ARCH else None
    if column is None:
        raise LookupError(f"no filter of system calls is known for the machine type {machine}")
    code = [
        _load(_ARCHITECTURE),
        _jump(_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _fail(errno.ENOSYS),
        _load(_NUMBER),
    ]
    # On x86_64, these are also the numbers of programs for x32.
    code += [_jump(_AT_LEAST, _NEWEST + 1, 0, 1), _fail(errno.ENOSYS)]
    for numbers in _DENIED.values():
        code += _when(numbers[column], [_fail(errno.EPERM)])
    for numbers in _HIDDEN.values():
        code += _when(numbers[column], [_fail(errno.ENOSYS)])
    for numbers, argument, bits in _FLAGS.values():
        code += _when(numbers[column], _refuse_bits(argument, bits))
    for numbers, argument, values in _DENIED_VALUES.values():
        code += _when(numbers[column], _by_value(argument, values, _fail(errno.EPERM), _allow()))
    for numbers, argument, values in _ALLOWED_VALUES.values():
        code += _when(numbers[column], _by_value(argument, values, _allow(), _fail(errno.EPERM)))
    for numbers, argument in _MODES.values():
        code += _when(numbers[column], _refuse_bits(argument, stat.S_ISUID))
    for numbers, flags, mode in _OPEN.values():
        creates = [_load_argument(flags), _jump(_ANY_BIT, _CREATES, 0, 2)]
        body = [
            *creates,
            _load_argument(mode),
            _jump(_ANY_BIT, stat.S_ISUID, 1, 0),
            _allow(),
            _fail(errno.EPERM),
        ]
        code += _when(numbers[column], body)
    return b"".join([*code, _allow()])


def install() -> None:
    """Filter the system calls of this process and its descendants for ever. Needs `forbid_new_privileges`.

    Raises `OSError`, and `LookupError` for a machine type without a filter.
    """
    code = program(os.uname().machine)
    given = _Program(len(code) // 8, code)
    unsigned = ctypes.c_ulong
    result = ns.libc().prctl(
        ctypes.c_int(_PR_SET_SECCOMP), unsigned(_FILTER_MODE), ctypes.byref(given), unsigned(0), unsigned(0)
    )
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def _when(number: int | None, body: list[bytes]) -> list[bytes]:
    """Return instructions that run `body`, which returns, for one system call; the number is loaded."""
    return [] if number is None else [_jump(_EQUAL, number, 0, len(body)), *body]


def _refuse_bits(argument: int, bits: int) -> list[bytes]:
    return [_load_argument(argument), _jump(_ANY_BIT, bits, 1, 0), _allow(), _fail(errno.EPERM)]


def _by_value(argument: int, values: Sequence[int], if_one: bytes, if_none: bytes) -> list[bytes]:
    compare = [step for value in values for step in (_jump(_EQUAL, value, 0, 1), if_one)]
    return [_load_argument(argument), *compare, if_none]


def _load_argument(argument: int) -> bytes:
    """Load the low half of an argument; both machine types are little-endian."""
    return _load(_ARGUMENTS + 8 * argument)


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, 0, 0, offset)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return _instruction(code, if_true, if_false, value)


def _fail(number: int) -> bytes:
    return _instruction(_RETURN, 0, 0, _ERROR | number)


def _allow() -> bytes:
    return _instruction(_RETURN, 0, 0, _ALLOW)


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
