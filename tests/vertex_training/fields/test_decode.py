from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.ground import jobs
from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN, Unknown, decode, encode
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.job.custom_job import CustomJobSpec, normalise


class Colour(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, kw_only=True)
class Part:
    serial_number: str
    amount: int = 0
    secret_word: str | None = field(default=None, metadata={"secret": True})


@dataclass(frozen=True, kw_only=True)
class Thing:
    UNSUPPORTED: ClassVar[frozenset[str]] = frozenset({"later_field"})
    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"create_time"})

    display_name: str
    whole: int = 3
    share: float | None = None
    flag: bool = True
    mode: Literal["fast", "slow"] = "fast"
    colour: Colour = Colour.RED
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    words: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    size: int = field(
        default=0,
        metadata={"required_with": ("part",), "missing": lambda path: f"give the {path} of the part"},
    )


def problems(value):
    return [(problem.path, problem.message) for problem in decode(Thing, value).problems]


def test_both_spellings_of_a_name_are_read():
    snake = decode(Thing, {"display_name": "a", "parts": [{"serial_number": "1"}]})
    camel = decode(Thing, {"displayName": "a", "parts": [{"serialNumber": "1"}]})
    assert snake.spec == camel.spec == Thing(display_name="a", parts=(Part(serial_number="1"),))


@pytest.mark.parametrize("value", [3, 3.0, "3"])
def test_whole_numbers_in_every_spelling(value):
    spec = decode(Thing, {"display_name": "a", "size": value}).spec
    assert spec is not None
    assert spec.size == 3
    assert type(spec.size) is int


@every_row(
    ("field_name", "value", "message"),
    [
        ("whole", 3.5, "expected a whole number, got the number 3.5"),
        ("whole", True, "expected a whole number, got true"),
        ("whole", "three", "expected a whole number, got the string 'three'"),
        ("whole", float("nan"), "expected a whole number, got a number"),
        (
            "whole",
            2**63,
            "the number 9223372036854775808 is too large; at most 9223372036854775807 is possible",
        ),
        ("whole", [1], "expected a whole number, got a list"),
        ("share", "1.5", "expected a number, got the string '1.5'"),
        ("flag", 1, "expected true or false, got the number 1"),
        ("flag", "true", "expected true or false, got the string 'true'; write it without quotes"),
        ("display_name", 5, "expected a string, got the number 5; write it in quotes"),
        ("display_name", False, "expected a string, got false; write it in quotes"),
        ("display_name", {"a": 1}, "expected a string, got a mapping"),
        ("words", "one", "expected a list, got a string; write one entry each, in brackets"),
        ("words", {"one": 1}, "expected a list, got a mapping; write one entry each, in brackets"),
        ("tags", ["one"], "expected a mapping, got a list"),
        (
            "parts",
            {"serial_number": "1"},
            "expected a list, got a mapping; write one entry each, in brackets",
        ),
        ("part", "hush", "expected a mapping with the fields of Part, got a string"),
        ("mode", "fats", "the string 'fats' is not one of fast, slow; did you mean fast?"),
        ("mode", 1, "the number 1 is not one of fast, slow"),
        ("colour", "bleu", "the string 'bleu' is not one of red, blue; did you mean blue?"),
    ],
)
def test_a_value_of_the_wrong_type(field_name, value, message):
    assert (field_name, message) in problems({"display_name": "a", "size": 1, field_name: value})


def test_a_float_and_an_enum():
    spec = decode(Thing, {"display_name": "a", "share": 1, "colour": "blue", "mode": "slow"}).spec
    assert spec == Thing(display_name="a", share=1.0, colour=Colour.BLUE, mode="slow")


@pytest.mark.parametrize("value", [None, "text", 3, [], True])
def test_only_a_mapping_is_a_spec(value):
    decoded = decode(Thing, value)
    assert decoded.spec is None
    assert decoded.draft is None
    assert [problem.path for problem in decoded.problems] == [""]


def test_a_missing_field():
    assert problems({}) == [("display_name", "is missing; it is required")]


def test_none_is_a_missing_field():
    assert problems({"display_name": None}) == [("display_name", "is missing; it is required")]


def test_a_field_that_another_one_asks_for():
    value = {"display_name": "a", "part": {"serial_number": "1"}}
    assert problems(value) == [("size", "is missing; give the size of the part")]
    assert problems({**value, "size": 0}) == []


def test_an_unknown_field_gets_the_nearest_name():
    assert problems({"display_name": "a", "wrods": []}) == [
        ("wrods", "is not a known field; did you mean words?")
    ]


def test_an_unknown_field_like_no_other_gets_the_list():
    [(path, message)] = problems({"display_name": "a", "parts": [{"serial_number": "1", "qqqq": 1}]})
    assert path == "parts[0].qqqq"
    assert message == "is not a known field; the fields are serial_number, amount, secret_word"


def test_a_misspelt_required_field_is_one_problem():
    assert [path for path, _ in problems({"displayNam": "a"})] == ["display_nam"]


def test_a_field_of_a_later_version_is_rejected_by_name():
    assert problems({"display_name": "a", "laterField": {"x": 1}}) == [
        ("later_field", "is not supported yet by this version; leave it out")
    ]


@pytest.mark.parametrize("nothing", [None, "", 0, False, [], {}])
def test_a_field_of_a_later_version_may_be_empty(nothing):
    assert problems({"display_name": "a", "later_field": nothing}) == []


def test_a_field_of_the_service_is_rejected_by_name():
    assert problems({"display_name": "a", "createTime": "now"}) == [
        ("create_time", "is set by the service; leave it out")
    ]


def test_a_field_in_both_spellings():
    assert problems({"display_name": "a", "displayName": "b"}) == [
        ("display_name", "is given twice, the second time as displayName; keep one")
    ]


def test_a_key_that_is_not_a_string():
    assert problems({"display_name": "a", 1: 2}) == [("", "1 is not the name of a field")]
    assert problems({"display_name": "a", "tags": {1: "x"}}) == [
        ("tags", "expected strings as keys, got the number 1; write it in quotes")
    ]


def test_all_problems_come_at_once_with_their_paths():
    value = {
        "whole": 1.5,
        "parts": [{}, {"serial_number": 1}],
        "tags": {"a": 1, "b c": 2},
        "words": ["x", None],
    }
    assert [path for path, _ in problems(value)] == [
        "display_name",
        "whole",
        "parts[0].serial_number",
        "parts[1].serial_number",
        "words[1]",
        "tags.a",
        'tags["b c"]',
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"serial_number": "1", "secret_word": 12345},
        {"serial_number": "1", "secret_word": ["12345"]},
        "12345",
        ["12345"],
    ],
)
def test_secrets_are_never_shown(value):
    found = problems({"display_name": "a", "size": 1, "part": value})
    assert found
    assert "12345" not in str(found)


def test_a_long_value_is_cut():
    [(_, message)] = problems({"display_name": "a", "whole": "9" * 500})
    assert len(message) < 150


def test_a_service_may_send_more_and_leave_out_zeros():
    decoded = decode(Thing, {"createTime": "now", "new": 1, "part": {}}, tolerant=True)
    assert decoded.spec == Thing(display_name="", part=Part(serial_number=""))


def test_even_a_service_cannot_send_the_wrong_type():
    assert [p.path for p in decode(Thing, {"displayName": 5}, tolerant=True).problems] == ["display_name"]


# Values that are not known yet.


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"display_name": UNKNOWN}, "display_name"),
        ({"display_name": "a", "whole": UNKNOWN}, "whole"),
        ({"display_name": "a", "flag": UNKNOWN}, "flag"),
        ({"display_name": "a", "share": UNKNOWN}, "share"),
        ({"display_name": "a", "mode": UNKNOWN}, "mode"),
        ({"display_name": "a", "colour": UNKNOWN}, "colour"),
        ({"display_name": "a", "size": 1, "part": UNKNOWN}, "part"),
        ({"display_name": "a", "parts": UNKNOWN}, "parts"),
        ({"display_name": "a", "parts": [UNKNOWN, {"serial_number": "1"}]}, "parts[0]"),
        ({"display_name": "a", "parts": [{"serial_number": UNKNOWN}]}, "parts[0].serial_number"),
        ({"display_name": "a", "words": ["x", UNKNOWN]}, "words[1]"),
        ({"display_name": "a", "tags": UNKNOWN}, "tags"),
        ({"display_name": "a", "tags": {"team": UNKNOWN}}, "tags.team"),
    ],
)
def test_an_unknown_value_is_recorded_and_restored(value, path):
    decoded = decode(Thing, value)
    assert decoded.problems == ()
    assert decoded.unknown == {path}
    assert decoded.spec is not None
    again = decode(Thing, encode(decoded.spec, unknown=decoded.unknown))
    assert (again.spec, again.unknown) == (decoded.spec, decoded.unknown)


def test_a_placeholder_says_what_it_is():
    spec = decode(Thing, {"display_name": UNKNOWN}).spec
    assert spec is not None
    assert spec.display_name == NOT_KNOWN


def test_unknown_is_one_value_whoever_made_it():
    assert Unknown() == UNKNOWN
    assert len({Unknown(), UNKNOWN}) == 1
    assert UNKNOWN != "UNKNOWN"


def test_placeholders_and_damage_are_not_checked():
    from vertex_training.findings.problems import Problem

    decoded = decode(Thing, {"display_name": UNKNOWN, "whole": "x"})
    checked = decoded.then(
        lambda thing: thing,
        lambda thing: [Problem(path=path, message="bad") for path in ("display_name", "whole", "mode")],
    )
    assert [str(problem) for problem in checked.problems] == [
        "whole: expected a whole number, got the string 'x'",
        "mode: bad",
    ]
    assert checked.spec is None


def test_a_warning_leaves_a_spec():
    from vertex_training.findings.problems import Problem

    checked = decode(Thing, {"display_name": "a"}).then(
        lambda thing: thing, lambda thing: [Problem(path="mode", message="hm", level="warning")]
    )
    assert checked.spec == Thing(display_name="a")


# Round trips.


@given(jobs.jobs)
def test_decode_is_the_inverse_of_encode(job):
    assert decode(CustomJobSpec, encode(job)).spec == job


@given(jobs.jobs)
def test_encode_writes_plain_values_that_survive_floats(job):
    def as_pulumi_sends(value):
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            return float(value)
        if isinstance(value, list):
            return [as_pulumi_sends(item) for item in value]
        if isinstance(value, dict):
            return {key: as_pulumi_sends(item) for key, item in value.items()}
        assert isinstance(value, str)
        return value

    assert decode(CustomJobSpec, as_pulumi_sends(encode(job))).spec == job


@given(jobs.jobs)
def test_empty_and_default_values_are_left_out(job):
    def holds_nothing(value):
        if isinstance(value, dict):
            return any(map(holds_nothing, value.values()))
        return value is None

    assert not holds_nothing(encode(normalise(job)))


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(UNKNOWN),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "display_name",
                    "workerPoolSpecs",
                    "machine_spec",
                    "replicaCount",
                    "env",
                    "name",
                    "labels",
                    "x",
                ]
            )
            | st.integers(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(plain)
def test_any_value_is_decoded_or_reported(value):
    decoded = decode(CustomJobSpec, value)
    assert (decoded.spec is None) == bool(decoded.problems)
