"""Owners of files: numbers, and names that /etc/passwd and /etc/group give a number."""

from __future__ import annotations

from collections.abc import Callable

_LARGEST = 2**31 - 1
ReadText = Callable[[str], "str | None"]


def owner(text: str, read: ReadText) -> tuple[int, int]:
    """User and group of `USER[:GROUP]`; `read` gives the text of a file of the image, or None.

    A user without a group has a group of its own number with --chown, as in Docker. Raises ValueError.
    """
    user, colon, group = text.partition(":")
    if not user or (colon and not group):
        raise ValueError(f"{text!r} is not an owner. Write USER or USER:GROUP.")
    uid = _number(user, "user", "etc/passwd", read)
    return uid, _number(group, "group", "etc/group", read) if colon else uid


def _number(name: str, what: str, file: str, read: ReadText) -> int:
    if name.isdecimal():
        if int(name) > _LARGEST:
            raise ValueError(f"{name} is too large for the number of a {what}. The largest is {_LARGEST}.")
        return int(name)
    for line in (read(file) or "").splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[0] == name and fields[2].isdecimal():
            return int(fields[2])
    raise ValueError(f"the image has no {what} {name!r} in /{file}. Write a number, as 1000.")
