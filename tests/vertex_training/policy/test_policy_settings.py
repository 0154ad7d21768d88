"""The reading of the settings of policies, and their JSON schema for the engine."""

from __future__ import annotations

import check_jsonschema  # noqa: F401  (brings jsonschema)
import jsonschema
import pytest

from support.tables import every_row
from vertex_training.policy.evaluation import configuration_of
from vertex_training.policy.policies import POLICIES
from vertex_training.policy.settings import json_schema


@every_row(
    ("document", "problem"),
    [
        ([], "expected an object with a key for each policy"),
        (
            {"machine-type": "mandatory"},
            "machine-type: is not the name of a policy; did you mean machine-types?",
        ),
        ({"timeout": "strict"}, "timeout: 'strict' is not one of advisory, mandatory or disabled"),
        ({"timeout": 3}, "timeout: expected an object, or one of advisory, mandatory or disabled"),
        (
            {"machine-types": {"alowed": ["n1-*"]}},
            "machine-types.alowed: is not a known field; did you mean allowed?",
        ),
        ({"machine-types": {"allowed": "n1-*"}}, "machine-types.allowed: expected a list, got a string; "),
        ({"replicas": {"most": "many"}}, "replicas.most: expected a whole number, got the string 'many'"),
        ({"replicas": {"most": -1}}, "replicas.most: -1 is negative. Give 0 or more"),
        ({"hourly-cost": {"most": -0.5}}, "hourly-cost.most: -0.5 is negative. Give 0 or more"),
        (
            {"hourly-cost": {"unknownPrices": "maybe"}},
            "hourly-cost.unknownPrices: the string 'maybe' is not one of refuse, allow",
        ),
        ({"timeout": {"most": "1 day"}}, "timeout.most: '1 day' is not a duration; write it in seconds"),
        ({"hourly-cost": {"most": float("inf")}}, "hourly-cost.most: inf is not a JSON number. Give 0"),
        ({"all": ""}, "all: '' is not one of advisory, mandatory or disabled"),
        ({"all": None}, "all: null is not one of advisory, mandatory or disabled"),
        ({"timeout": {"enforcementLevel": None}}, "timeout.enforcementLevel: null is not one of advisory, "),
        (
            {"all": {"enforcementLevel": "mandatory", "exempt": ["a"]}},
            "all.exempt: only enforcementLevel can be set for all policies. Set exempt for each policy",
        ),
        ({"environments": {"a": 1}}, "environments: expected a list of strings"),
        ({"timeout": {"most": "0s"}}, "timeout.most: '0s' is 0 seconds; give a positive duration"),
    ],
)
def test_a_wrong_setting_is_reported(document, problem) -> None:
    (reported,) = configuration_of(document).problems
    assert str(reported).startswith(problem)


def test_a_number_of_seconds_is_a_timeout_for_the_engine_as_well() -> None:
    schema = {"type": "object", "properties": json_schema(POLICIES["timeout"].settings)}
    jsonschema.validate({"most": 3600}, schema)
    with pytest.raises(jsonschema.ValidationError, match="less than the minimum of 0"):
        jsonschema.validate({"most": -1}, {"properties": json_schema(POLICIES["replicas"].settings)})


def test_levels() -> None:
    found = configuration_of(
        {
            "all": {"enforcementLevel": "mandatory"},
            "timeout": "advisory",
            "regions": {"enforcementLevel": "disabled"},
        }
    )
    levels = {one.policy.name: one.level for one in found.policies}
    assert levels == {name: "mandatory" for name in POLICIES if name != "regions"} | {"timeout": "advisory"}
    assert {one.level for one in configuration_of({}).policies} == {"advisory"}


def _types(schema):
    return schema["type"] if isinstance(schema["type"], list) else [schema["type"]]


@pytest.mark.parametrize("name", POLICIES)
def test_the_schema_of_the_settings_accepts_what_they_accept(name: str) -> None:
    properties = json_schema(POLICIES[name].settings)
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    jsonschema.Draft7Validator.check_schema(schema)
    examples = {
        "array": ["a"], "integer": 1, "number": 1.5, "boolean": True, "object": {"a": ["b"]}, "string": "60s"
    }  # fmt: skip
    values = {
        key: one["enum"][0] if "enum" in one else examples[_types(one)[0]] for key, one in properties.items()
    }
    jsonschema.validate(values, schema)
    assert configuration_of({name: values}).problems == ()
