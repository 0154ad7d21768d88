"""The configuration of a stack as a dataclass: values, and all wrong ones at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pytest
from pulumi.runtime import config, mocks

import pulumi_vertex_training as vt
from support.tables import every_row


@dataclass(frozen=True, kw_only=True)
class Settings:
    workers: int = vt.setting(2, minimum=0, maximum=64)
    machine_type: str = vt.setting("n1-standard-4")
    tier: str = vt.setting("small", choices=("small", "large"))
    members: tuple[str, ...] = vt.setting((), pattern=r"\S+@\S+", words="an address", example="a@b.c")
    spot: bool = vt.setting(False)
    note: str | None = vt.setting(None)
    token: pulumi.Output[str] | None = vt.setting(None, pattern="[a-z0-9-]+")


@dataclass(frozen=True, kw_only=True)
class Required:
    region: str = vt.setting(example="us-central1")
    limit: int = vt.setting(minimum=3)


class _NoResources(mocks.Mocks):
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        raise AssertionError("no test declares a resource")

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        return {}


@pytest.fixture(autouse=True)
def _program(event_loop: None) -> Iterator[None]:
    mocks.set_mocks(_NoResources(), project="digits", stack="dev")
    yield
    config.set_all_config({})


def read(settings: type[Any], values: Mapping[str, str], secrets: tuple[str, ...] = ()) -> Any:
    config.set_all_config(
        {f"digits:{key}": value for key, value in values.items()}, [f"digits:{key}" for key in secrets]
    )

    async def run() -> Any:
        return vt.read_configuration(settings)

    return asyncio.run(run())


def test_defaults_and_values() -> None:
    assert read(Settings, {}) == Settings()
    found = read(
        Settings,
        {
            "workers": "3",
            "machineType": "g2-standard-4",
            "members": '["a@b"]',
            "spot": "true",
            "note": "",
            "tier": "",
        },
    )
    assert found == Settings(workers=3, machine_type="g2-standard-4", members=("a@b",), spot=True)


def test_a_secret_is_a_secret_output() -> None:
    token = read(Settings, {"token": "abc-123"}, ("token",)).token

    async def secret() -> tuple[bool, str]:
        return await token.is_secret(), await token.future()

    assert isinstance(token, pulumi.Output)


@every_row(
    ("values", "message"),
    [
        (
            {"workers": "many"},
            "digits:workers is 'many'; it must be a whole number from 0 to 64. Run "
            "`pulumi config set digits:workers 2 --stack dev`.",
        ),
        (
            {"workers": "65"},
            "digits:workers is '65'; it must be a whole number from 0 to 64. Run "
            "`pulumi config set digits:workers 2 --stack dev`.",
        ),
        (
            {"workers": "2.5"},
            "digits:workers is '2.5'; it must be a whole number from 0 to 64. Run "
            "`pulumi config set digits:workers 2 --stack dev`.",
        ),
        (
            {"tier": "Large"},
            "digits:tier is 'Large'; it must be small or large. Run "
            "`pulumi config set digits:tier large --stack dev`.",
        ),
        (
            {"spot": "yes"},
            "digits:spot is 'yes'; it must be true or false. Run "
            "`pulumi config set digits:spot false --stack dev`.",
        ),
        (
            {"members": "a@b"},
            "digits:members is 'a@b'; it must be a list; each item is an address. Run "
            "`pulumi config set --path 'digits:members[0]' a@b.c --stack dev`.",
        ),
        (
            {"machinetype": "x"},
            "digits:machinetype is no setting of this program; did you mean machineType? Run "
            "`pulumi config rm digits:machinetype --stack dev`.",
        ),
        (
            {"token": "hunter2"},
            "digits:token is stored in plain text; it must be a secret. Store a new one, because this one "
            "may be in your history: run `pulumi config set --secret digits:token --stack dev`.",
        ),
    ],
)
def test_wrong_values(values: dict[str, str], message: str) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        read(Settings, values)
    assert str(raised.value) == f"The configuration of stack dev is wrong:\n  {message}"


def test_a_secret_is_never_shown() -> None:
    with pytest.raises(pulumi.RunError) as raised:
        read(Settings, {"token": "Not Allowed"}, ("token",))
    assert str(raised.value) == (
        "The configuration of stack dev is wrong:\n  digits:token has a value that does not fit; it must be "
        "a text. Run `pulumi config set --secret digits:token --stack dev`."
    )


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(pulumi.RunError) as raised:
        read(Required, {"limit": "2", "zone": "a"})
    assert str(raised.value).splitlines()[1:] == [
        "  digits:zone is no setting of this program; the settings are limit, region. Run "
        "`pulumi config rm digits:zone --stack dev`.",
        "  digits:region is not set; it must be a text. Run "
        "`pulumi config set digits:region us-central1 --stack dev`.",
        "  digits:limit is '2'; it must be a whole number, 3 or more. Run "
        "`pulumi config set digits:limit 3 --stack dev`.",
    ]


def test_keys_of_other_namespaces_are_left_alone() -> None:
    config.set_all_config({"gcp:project": "p", "digits:workers": "1"})

    async def run() -> Any:
        return vt.read_configuration(Settings)

    assert asyncio.run(run()).workers == 1
