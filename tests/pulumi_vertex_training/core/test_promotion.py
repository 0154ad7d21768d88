"""The promotion in a stack's configuration: what is read, what is written, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pulumi_vertex_training.core.promotion import entries as promotion
from pulumi_vertex_training.core.promotion.entries import KEY, PromotedImage, PromotedPackage
from pulumi_vertex_training.core.settings import SettingsError
from support.tables import every_row

IMAGE = {"digest": f"sha256:{'a' * 64}", "source": "gcr.io/dev/digits", "stack": "dev", "run": "train/1"}
PACKAGE = {
    "file": "digits-1.0-py3-none-any.whl",
    "pythonModule": "digits.task",
    "sha256": "b" * 64,
    "size": 7,
    "source": "gs://dev/packages/code/bbbbbbbbbbbbbbbb/digits-1.0-py3-none-any.whl",
    "stack": "dev",
}
WHOLE: dict[str, Any] = {"images": {"train": IMAGE}, "packages": {"train": PACKAGE}}


def test_a_promotion_comes_back() -> None:
    found = promotion.read(json.dumps(WHOLE))
    assert promotion.document(found) == WHOLE
    image, package = found.images["train"], found.packages["train"]
    assert found.entry(PromotedImage, "train") == image
    assert found.entry(PromotedPackage, "other") is None
    assert (image.words, package.words) == ("promoted from stack dev, run train/1", "promoted from stack dev")
    for kind, entry in ((PromotedImage, image), (PromotedPackage, package)):
        assert promotion.entry_of(kind, {promotion.INPUT: promotion.as_input(entry)}) == entry


def test_a_stack_without_the_key_has_none() -> None:
    assert not promotion.read(None)
    assert promotion.document(promotion.read(None)) == {}


WRONG: list[tuple[object, str]] = [
    ("yes", f"{KEY} is '\"yes\"', which is not an object"),
    ([1], "which is not an object"),
    ({"imges": {}}, f"{KEY}.imges: is not a known field; did you mean images"),
    (
        {"images": {"a": {**IMAGE, "digest": "sha256:1"}}},
        "is not a digest, which is sha256: and 64 hex digits",
    ),
    (
        {"images": {"a": {**IMAGE, "source": "gcr.io/dev/digits:1"}}},
        "name of an image without tag and digest",
    ),
    ({"images": {"a": {**IMAGE, "source": "digits"}}}, "name of an image without tag and digest"),
    ({"images": {"a": {**IMAGE, "stack": None}}}, f"{KEY}.images.a.stack: is missing"),
    ({"packages": {"a": {**PACKAGE, "sha256": "B" * 64}}}, "is not a SHA-256"),
    ({"packages": {"a": {**PACKAGE, "size": -1}}}, "-1 is not a size"),
    ({"packages": {"a": {**PACKAGE, "file": "../x.whl"}}}, "is not the file name of a package"),
    ({"packages": {"a": {**PACKAGE, "file": "x.zip"}}}, "is not the file name of a package"),
    ({"packages": {"a": {**PACKAGE, "source": "gs://bucket"}}}, "is not the gs:// address of an object"),
    ({"packages": {"a": {**PACKAGE, "source": "/tmp/x"}}}, "is not the gs:// address of an object"),
]


@every_row(("value", "words"), WRONG)
def test_a_wrong_promotion_is_refused_with_its_remedy(value: object, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        promotion.read(json.dumps(value))
    assert words in str(caught.value)
    assert f"or run `pulumi config rm {KEY}` to build here." in str(caught.value)


def test_all_faults_are_reported_at_once() -> None:
    faults = {
        "images": {"a": {**IMAGE, "digest": "1", "source": "2:"}},
        "packages": {"b": {**PACKAGE, "size": -1}},
    }
    with pytest.raises(SettingsError) as caught:
        promotion.read(json.dumps(faults))
    for path in ("images['a'].digest", "images['a'].source", "packages['b'].size"):
        assert f"{KEY}.{path}: " in str(caught.value)
