from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pulumi_vertex_training.cli.live.screen import Reader
from pulumi_vertex_training.cloud.errors import PermissionDenied, Unavailable
from support.waiting import eventually
from vertex_training.command_line.errors import CommandError, InputError


@contextmanager
def started(read: Callable[[], int], *, last: int = 10) -> Iterator[Reader[int]]:
    reader = Reader(read, first=0, seconds=0.01, done=lambda value: value == last)
    reader.start()
    try:
        yield reader
    finally:
        reader.stop()


def test_it_reads_until_the_last_value_and_no_further() -> None:
    values = iter(range(1, 100))
    with started(lambda: next(values)) as reader:
        eventually(lambda: reader.latest()[1])
        assert reader.latest()[0].value == 10
        reader._thread.join()
    assert next(values) == 11


@pytest.mark.parametrize("error", [Unavailable("no answer"), CommandError("the emulator is not running")])
def test_an_error_that_may_pass_is_shown_with_the_last_value_until_it_passes(error: Exception) -> None:
    failing = True

    def read() -> int:
        if failing:
            raise error
        return 10

    with started(read) as reader:
        eventually(lambda: reader.latest()[0].trouble == str(error))
        assert (reader.latest()[0].value, reader.latest()[1]) == (0, False)
        failing = False
        eventually(lambda: reader.latest()[1])
        assert (reader.latest()[0].value, reader.latest()[0].trouble) == (10, "")


@pytest.mark.parametrize("error", [PermissionDenied("not allowed"), InputError("wrong"), ZeroDivisionError()])
def test_any_other_error_is_raised_to_the_command(error: Exception) -> None:
    def read() -> int:
        raise error

    def failed() -> bool:
        try:
            reader.latest()
        except type(error):
            return True
        return False

    with started(read) as reader:
        eventually(failed)
