"""Cron expressions: what is valid, and when it is due."""

from __future__ import annotations

from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import pytest

from vertex_training.fields import cron

BERLIN = ZoneInfo("Europe/Berlin")


def due(expression: str, after: str, *, zone: ZoneInfo = BERLIN, count: int = 3) -> list[str]:
    """Return the next times in a time zone, after a time in UTC."""
    moment = datetime.fromisoformat(after).replace(tzinfo=timezone.utc)
    return [f"{at:%m-%d %H:%M %Z}" for at in cron.next_times(expression, zone, moment, count)]


@pytest.mark.parametrize(
    "expression",
    ["0 3 * * *", "*/15 9-17 * * MON-FRI", "0 0 1,15 jan,JUL *", "5 4 * * 7", "0 0 29 2 *", " 0  3 * * * "],
)
def test_it_is_valid(expression: str) -> None:
    assert cron.problem_with(expression) is None


@pytest.mark.parity("Schedules: cron expressions")
@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 3 * *", "has 4 fields"),
        ("@daily", "has 1 field; write the five"),
        ("0 3 * * * *", "has 6 fields"),
        ("60 3 * * *", "'60' is not a minute; it has the values 0 to 59"),
        ("0 24 * * *", "'24' is not an hour"),
        ("0 3 L * *", "'L' is not a day of the month"),
        ("0 3 * 13 *", "'13' is not a month"),
        ("0 3 * MON *", "'MON' is not a month"),
        ("0 3 * * 1#2", "'1#2' is not a day of the week"),
        ("0 3 * * FRI-MON", "'FRI-MON' is not a day of the week"),
        ("*/0 3 * * *", "'*/0' is not a minute"),
        ("0 0 30 2 *", "is never due"),
    ],
)
def test_it_is_not_valid(expression: str, words: str) -> None:
    assert words in str(cron.problem_with(expression))


@pytest.mark.parity("Schedules: cron expressions")
def test_the_next_times_are_in_the_time_zone() -> None:
    assert due("0 3 * * *", "2026-11-23 01:59") == ["11-23 03:00 CET", "11-24 03:00 CET", "11-25 03:00 CET"]
    assert due("0 3 * * *", "2026-11-23 02:00", count=1) == ["11-24 03:00 CET"]


@pytest.mark.parity(
    "Schedules: cron expressions",
    own_way="five fields; a time in the gap is due after it, a time that occurs twice is due once",
)
def test_a_time_that_the_change_to_summer_time_skips_is_due_after_the_gap() -> None:
    assert due("30 2 * * *", "2026-03-28 12:00", count=2) == ["03-29 03:00 CEST", "03-30 02:30 CEST"]


@pytest.mark.parity("Schedules: cron expressions")
def test_a_time_that_occurs_twice_in_autumn_is_due_once() -> None:
    assert due("30 2 * * *", "2026-10-24 12:00", count=2) == ["10-25 02:30 CEST", "10-26 02:30 CET"]
