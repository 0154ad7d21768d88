"""The page of the policies: each with its rule and its settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from scripts.arguments.messages import fields_of
from scripts.reference.markdown import HEADER, REFERENCE, code, items, linked, value_entry
from scripts.reference.types_in_words import default_of_field, hint_in_words
from vertex_training.fields.schema import camel_case
from vertex_training.policy.evaluation import DEFAULT_LEVEL, LEVELS
from vertex_training.policy.policies import POLICIES
from vertex_training.policy.settings import Scope

PAGE = REFERENCE / "policies.md"

EXAMPLE = {
    "all": "mandatory",
    "regions": {"allowed": ["europe-*"]},
    "machine-types": {"allowed": ["n1-*", "g2-*"], "exempt": ["benchmark-*"]},
    "labels": {"required": ["team"]},
    "encryption-key": "advisory",
}
"""A file of settings; a test reads it as the pack does."""


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the page."""
    yield PAGE, "\n\n".join(_parts()) + "\n"


def _parts() -> Iterator[str]:
    yield f"{HEADER}# Policies"
    yield linked(
        PAGE,
        "The policies of the pack `policies/`, and the settings of each. How to install and use it is in\n"
        "docs/guides/cost/policies.md. In a pattern, `*` stands for any characters.",
    )
    yield "## Settings of every policy"
    levels = ", ".join(f"`{each}`" for each in LEVELS)
    default = f"`{json.dumps(DEFAULT_LEVEL)}`"
    level = value_entry("enforcementLevel", "string", default, "", f"One of {levels}.")
    yield items(PAGE, [level, *_settings(Scope)]).rstrip("\n")
    for policy in POLICIES.values():
        yield f"## {policy.name}"
        yield policy.says if policy.says.endswith(".") else f"{policy.says}."
        if own := list(_settings(policy.settings, without=Scope)):
            yield items(PAGE, own).rstrip("\n")
    yield "## Example"
    yield "The file of `--policy-pack-config`. `all` sets the level of policies without one."
    yield code(json.dumps(EXAMPLE, indent=2), "json")


def _settings(settings: type, *, without: type | None = None) -> Iterator[tuple[str, str, str]]:
    left_out = {field.key for field in fields_of(without).values()} if without else set()
    for field in fields_of(settings).values():
        if field.key not in left_out:
            name, kind = camel_case(field.name), hint_in_words(field.hint, "")
            has_default = "Default" in field.text or "(default)" in field.text
            shown = (
                "" if has_default or not default_of_field(None, field) else f"`{json.dumps(field.default)}`"
            )
            yield value_entry(name, kind, shown, "", field.text)
