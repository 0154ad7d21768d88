"""Enums of the API, as tables of names and numbers.

Google's own client sends enums as numbers over REST, people write names: a spec keeps the name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping


def by_number(numbers: Mapping[str, int]) -> Callable[[object], object]:
    """A function from a number of the enum, 3 or 3.0, to its name; any other value comes back as it is."""
    names = {number: name for name, number in numbers.items()}

    def name_of(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        return names.get(value, value)  # type: ignore[arg-type]

    return name_of
