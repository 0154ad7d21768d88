"""Table tests in which one node checks all rows, and a failure names each wrong row."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

Test = Callable[..., None]
T = TypeVar("T")
_PARAMETER = type(pytest.param())
_LONGEST_TITLE = 200


def every_row(
    names: str | Sequence[str],
    rows: Iterable[Any],
    *,
    ids: Iterable[object] | Callable[[Any], object] | None = None,
) -> Callable[[Test], Test]:
    """Call the test with each row of a table, in one node, and fail with all wrong rows.

    The arguments are those of `pytest.mark.parametrize`. Use it in place of that for many rows that take
    milliseconds each. All rows share the fixtures of the node: take none that a row changes.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [_row(each, len(arguments)) for each in rows]
    titles = [] if ids is None or callable(ids) else [str(each) for each in ids]

    def title(number: int) -> str:
        own, values = table[number]
        if own is not None:
            return own
        if callable(ids):
            return "-".join(str(ids(value)) for value in values)
        if titles:
            return titles[number]
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(arguments, values, strict=True))
        return f"row {number} ({fields[:_LONGEST_TITLE]})"

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def check(*fixtures: Any, **more: Any) -> None:
            assert table, "the table has no rows"
            wrong: list[str] = []
            for number, (_, values) in enumerate(table):
                try:
                    test(*fixtures, **more, **dict(zip(arguments, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    wrong.append(f"{title(number)}: {_described(error)}")
            if wrong:
                pytest.fail("\n".join([f"{len(wrong)} of {len(table)} rows fail", *wrong]), pytrace=False)

        fixtures = [each for name, each in signature.parameters.items() if name not in arguments]
        check.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return check

    return decorate


def not_empty(found: Iterable[T]) -> Sequence[T]:
    """Return what a test is to look at one by one. Fail if there is nothing: the test would show nothing."""
    listed = list(found)
    assert listed, "there is nothing to look at"
    return listed


def _row(row: Any, count: int) -> tuple[str | None, tuple[Any, ...]]:
    """Return the id and the values of a row."""
    if isinstance(row, _PARAMETER):
        assert not row.marks, "a row of a table takes no marks"
        return row.id, tuple(row.values)
    return None, (row,) if count == 1 else tuple(row)


def _described(error: BaseException) -> str:
    """Return the line of the test that failed, and the error."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if _is_of_a_test(each.filename)]
    places = [f"{Path(each.filename).name}:{each.lineno}: " for each in frames[-1:]]
    return f"{''.join(places)}{type(error).__name__}: {error}"


def _is_of_a_test(file: str) -> bool:
    return Path(file).name.startswith("test_")
