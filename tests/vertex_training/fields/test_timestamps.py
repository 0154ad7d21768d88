from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from vertex_training.fields.timestamps import is_before, is_moment, normal, parse, text


@pytest.mark.parametrize(
    ("moment", "wanted"),
    [
        pytest.param("2027-01-31T12:00:00Z", "2027-01-31T12:00:00Z", id="UTC"),
        pytest.param("2027-01-31t12:00:00z", "2027-01-31T12:00:00Z", id="small letters"),
        pytest.param("2027-01-31T12:00:00.000Z", "2027-01-31T12:00:00Z", id="no fraction"),
        pytest.param("2027-01-31T12:00:00.5Z", "2027-01-31T12:00:00.500Z", id="half a second"),
        pytest.param("2027-01-31T12:00:00.123456789Z", "2027-01-31T12:00:00.123456789Z", id="nanoseconds"),
        pytest.param("2027-01-31T00:30:00+01:00", "2027-01-30T23:30:00Z", id="the day before"),
        pytest.param("2027-01-31T23:30:00-05:30", "2027-02-01T05:00:00Z", id="the day after"),
        pytest.param("2027-02-30T12:00:00Z", "2027-02-30T12:00:00Z", id="no day, as it is"),
        pytest.param("tomorrow", "tomorrow", id="no moment, as it is"),
        pytest.param("0001-01-01T00:00:00+01:00", "0001-01-01T00:00:00+01:00", id="before all time"),
    ],
)
def test_the_normal_form_of_a_moment(moment, wanted):
    assert normal(moment) == wanted


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)), st.integers(-1439, 1439))
def test_the_normal_form_is_what_google_s_own_message_writes(moment, offset):
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    message = Timestamp()
    message.FromJsonString(zoned.isoformat())
    assert normal(zoned.isoformat()) == message.ToJsonString() == text(zoned)


@pytest.mark.parametrize("value", ["2027-01-31", "2027-01-31T12:00:00", "2027-01-31 12:00:00Z", ""])
def test_invalid_moments(value):
    assert not is_moment(value)


@pytest.mark.parametrize(
    ("first", "second", "before"),
    [
        ("2027-01-31T12:00:00Z", "2027-01-31T12:00:00.1Z", True),
        ("2027-01-31T12:00:00+01:00", "2027-01-31T11:30:00Z", True),
        ("2027-01-31T12:00:00Z", "2027-01-31T12:00:00Z", False),
        ("2027-01-31T12:00:00Z", "x", False),
    ],
)
def test_which_moment_is_first(first, second, before):
    assert is_before(first, second) is before


@pytest.mark.parametrize(
    "moment, utc",
    [
        ("2027-01-31T12:00:00Z", "2027-01-31T12:00:00+00:00"),
        ("2027-01-31T12:00:00.5Z", "2027-01-31T12:00:00.500000+00:00"),
        ("2027-01-31T12:00:00.123456789+01:30", "2027-01-31T10:30:00.123456+00:00"),
        ("2027-01-31T23:00:00-02:00", "2027-02-01T01:00:00+00:00"),
    ],
)
def test_a_moment_is_parsed_in_utc_to_microseconds(moment, utc):
    assert parse(moment).isoformat() == utc


def test_an_invalid_moment_is_not_parsed():
    with pytest.raises(ValueError, match="is not a time in the form of RFC 3339"):
        parse("2027-01-31 12:00:00")


def test_a_moment_without_a_zone_stays_as_it_is():
    moment = datetime(2027, 1, 31)
    assert text(moment) is moment
