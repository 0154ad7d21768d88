"""The plan of a promotion for people and programs, and the values of the configuration that it copies."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.cli.teams.promote import chosen, view
from pulumi_vertex_training.cli.teams.promote.apply import Sent
from pulumi_vertex_training.cli.teams.promote.artifacts import Image, Package
from pulumi_vertex_training.cli.teams.promote.chosen import Declared, Setting
from pulumi_vertex_training.cli.teams.promote.plan import Plan, Step
from pulumi_vertex_training.cli.teams.promote.stacks import Stack, Value, values_of
from pulumi_vertex_training.cloud.container_registry.copying import Missing
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.core.promotion.entries import PromotedImage, PromotedPackage, Promotion
from support import json_schema
from support.tables import every_row
from vertex_training.command_line.errors import CommandError
from vertex_training.command_line.output import Output

IMAGE = PromotedImage(stack="dev", run="train/4", digest=f"sha256:{'a' * 64}", source="gcr.io/dev/digits")
PACKAGE = PromotedPackage(
    stack="dev",
    run="train/4",
    file="d-1-py3-none-any.whl",
    sha256="b" * 64,
    size=7,
    source="gs://dev/c/d.whl",
)
SECRET = Value(text="swordfish", secret=True)
SETTINGS = (
    Setting(key="digits:epochs", old=Value(text="30"), new=Value(text="50")),
    Setting(key="digits:rate", old=Value(text="0.1"), new=Value(text="0.1")),
    Setting(key="digits:token", old=None, new=SECRET),
)
ARGUMENTS = {"--from": "dev", "--to": "prod", "--run": None, "--cwd": "my program"}


def plan(*steps: Step, settings: tuple[Setting, ...] = (), notes: tuple[str, ...] = ()) -> Plan:
    after = Promotion(images={"train": IMAGE}) if steps else Promotion()
    return Plan(
        source=Stack(name="dev", project="digits"),
        target=Stack(name="org/digits/prod", project="digits"),
        run="",
        steps=steps,
        settings=settings,
        notes=notes,
        before=Promotion(),
        after=after,
    )


def image(copy: Any, **missing: Any) -> Step:
    target = None if copy == "later" else parse("gcr.io/prod/digits")
    artifact = Image(name="train", entry=IMAGE, target=target, deployed="" if target is None else "sha256:cc")
    return Step(artifact=artifact, copy=copy, missing=Missing(**missing))


WHOLE = plan(
    image("send", manifests=1, blobs=2, sent_bytes=12_345_678, is_sent=True),
    Step(artifact=Package(name="train", entry=PACKAGE, deployed="b" * 64), copy="there"),
    settings=SETTINGS,
    notes=("digits:other has no value in stack dev, so it stays as it is.",),
)


def test_every_way_of_a_copy_has_its_words() -> None:
    steps = [
        image("there"),
        image("later"),
        image("copy"),
        image("mount", blobs=1),
        image("send", blobs=2, sent_bytes=12_345_678),
    ]
    assert [row.copy for row in view.rows(plan(*steps))] == [
        "is there",
        "by the first pulumi up",
        "by Cloud Storage, nothing is sent",
        "1 blob mounted, nothing is sent",
        "2 blobs, 12.3 MB sent to another host",
    ]


def test_the_same_content_and_secrets_are_marked() -> None:
    rows = {row.name: (row.now, row.then) for row in view.rows(WHOLE) if row.what != "image"}
    assert rows == {
        "train": ("b" * 12, f"{'b' * 12} (the same)"),
        "epochs": ("30", "50"),
        "rate": ("0.1", "0.1 (the same)"),
        "token": ("none", "[secret]"),
    }


def test_the_next_command_is_complete_and_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    view.show(WHOLE, None, ARGUMENTS, Output(as_json=False, terminal=False))
    shown = capsys.readouterr().out
    assert "`vertex-training promote --from dev --to prod --cwd 'my program' --yes`" in shown
    assert "swordfish" not in shown
    sent = {"image/train": Sent(sent_bytes=12_345_678, mounted=1)}
    view.show(WHOLE, sent, ARGUMENTS, Output(as_json=False, terminal=False))
    shown = capsys.readouterr().out
    assert "image/train: 1 blob mounted, 12,345,678 bytes sent." in shown
    assert "Pulumi.prod.yaml has the promotion under vertex-training:promoted." in shown


def test_a_promotion_that_is_there_is_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    view.show(plan(), None, ARGUMENTS, Output(as_json=False, terminal=False))
    assert "nothing to do, stack org/digits/prod has this promotion" in capsys.readouterr().out


@pytest.mark.parametrize("columns", [80, 100])
def test_a_terminal_wraps(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    view.show(WHOLE, None, ARGUMENTS, Output(as_json=False, terminal=True))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= columns


def test_markdown_has_a_row_for_everything() -> None:
    text = view.markdown(WHOLE, ARGUMENTS, done=False)
    assert "| image | `train` | cc | aaaaaaaaaaaa | train/4 | 2 blobs, 12.3 MB sent to another host |" in text
    assert "| config | `epochs` | 30 | 50 |  |  |" in text
    assert "swordfish" not in text


def test_the_page_has_every_key_and_json_no_secret() -> None:
    document = view.document(WHOLE, None)
    keys = set(document)
    for name in ("artifacts", "config"):
        keys |= {f"{name}[].{key}" for one in document[name] for key in one}
    assert json_schema.keys("promote") == keys
    json_schema.check("promote", document)
    assert "swordfish" not in json.dumps(document)
    assert document["config"][2] == {
        "key": "digits:token",
        "secret": True,
        "old": None,
        "new": None,
        "changes": True,
    }


CONFIG = values_of(
    {
        "digits:epochs": {"value": "50", "secret": False},
        "digits:layers": {"value": "[1,2]", "objectValue": [1, 2], "secret": False},
        "digits:token": {"value": "swordfish", "secret": True},
        "digits:tokens": {"value": '{"a":"b"}', "objectValue": {"a": "b"}, "secret": True},
    }
)


def declaration(value: object) -> dict[str, Value]:
    return values_of({chosen.KEY: {"value": json.dumps(value), "objectValue": value, "secret": False}})


def test_listed_values_are_copied_and_no_others() -> None:
    names = chosen.declared(
        declaration({"config": ["epochs", "digits:layers", "other"], "secrets": ["token"]}), "dev", "digits"
    )
    found, notes = chosen.settings(names, CONFIG, {"digits:epochs": Value(text="50")}, "dev")
    assert [(one.key, one.changes) for one in found] == [
        ("digits:epochs", False),
        ("digits:layers", True),
        ("digits:token", True),
    ]
    assert notes == ["digits:other has no value in stack dev, so it stays as it is."]
    assert chosen.as_json(found[1].new) == {"value": "[1,2]", "objectValue": [1, 2], "secret": False}
    assert "swordfish" not in repr(found)


def test_without_a_list_nothing_is_copied() -> None:
    assert chosen.declared(CONFIG, "dev", "digits") == Declared()
    assert chosen.settings(Declared(), CONFIG, {}, "dev") == ([], [])


WRONG: list[tuple[object, str]] = [
    ("epochs", "is not an object with the lists config and secrets"),
    ({"config": "epochs"}, "vertex-training:promote.config: expected a list"),
    ({"confg": []}, "vertex-training:promote.confg: is not a known field"),
    (
        {"config": ["vertex-training:project"]},
        "promote.config[0]: vertex-training:project says where",
    ),
    ({"secrets": ["gcp:project"]}, "promote.secrets[0]: gcp:project says where a stack deploys"),
    ({"config": ["a"], "secrets": ["a"]}, "digits:a is listed in config and in secrets"),
    ({"config": ["token"]}, "digits:token is a secret of stack dev. To copy it, list it in"),
    ({"secrets": ["tokens"]}, "digits:tokens is a secret object, which is not copied"),
]


@every_row(("value", "words"), WRONG)
def test_a_wrong_list_is_refused(value: object, words: str) -> None:
    with pytest.raises(CommandError) as caught:
        chosen.settings(chosen.declared(declaration(value), "dev", "digits"), CONFIG, {}, "dev")
    assert words in str(caught.value)
    assert "swordfish" not in str(caught.value)


@every_row(
    ("arguments", "path"),
    [
        (["--from", "dev", "--to", "dev"], "--to"),
        (["--from", "dev", "--to", "prod", "--markdown"], "--markdown"),
    ],
)
def test_wrong_arguments_are_bad_input(
    arguments: list[str], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["promote", "--json", *arguments]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["path"] == path
