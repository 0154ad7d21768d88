"""Configuration of the wrong type: both forms name key, value, rule and remedy, and report all at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from support.client.engine import Engine
from support.client.package_plugin import with_plugin

YAML = {
    "name": "engine-test",
    "runtime": "yaml",
    "resources": {"data": {"type": "vertex-training:StagingBucket"}},
}
WRONG = {
    "endpoint": {"kind": "emulator"},
    "project": ["my-project"],
    "location": {"region": "us-central1"},
    "lookupTimeout": "two",
}
REPORTED = (
    "vertex-training:endpoint is '{\"kind\":\"emulator\"}'; it must be 'emulator' or 'google'. "
    "Run `pulumi config set vertex-training:endpoint ",
    "vertex-training:project is '[\"my-project\"]'; it must be the id of a project, such as my-project. "
    "Run `pulumi config set vertex-training:project my-project",
    'vertex-training:location is \'{"region":"us-central1"}\'; it must be a region, such as europe-west4. '
    "Run `pulumi config set vertex-training:location europe-west4",
    "vertex-training:lookupTimeout is 'two'; it must be a number of seconds from 0 to 600. "
    "Run `pulumi config set vertex-training:lookupTimeout 2",
)


@pytest.mark.parametrize("form", ["dynamic", "package"])
def test_all_wrong_values_are_reported_at_once(engine: Engine, form: str) -> None:
    if form == "package":
        engine = with_plugin(engine)
        (engine.folder / "Pulumi.yaml").write_text(json.dumps(YAML))
    else:
        engine.write("vt.StagingBucket('data')")
    for key, value in WRONG.items():
        engine.set(f"vertex-training:{key}", value)
    refused = engine.preview().failed().output
    for line in REPORTED:
        assert line in refused
    assert "Traceback" not in refused


def test_the_template_reports_a_wrong_setting_itself(engine: Engine) -> None:
    """Leave the check to `read_configuration`, because Pulumi.yaml has no types."""
    template = Path(__file__).parents[3] / "templates" / "vertex-training"
    config = yaml.safe_load((template / "Pulumi.yaml").read_text())["config"]
    project = {"name": "engine-test", "runtime": "python", "main": "infra", "config": config}
    (engine.folder / "Pulumi.yaml").write_text(json.dumps(project))
    engine.write_whole((template / "__main__.py").read_text())
    for key, value in {"workers": "two", "package": "0.1.0", "worker": "3"}.items():
        engine.set(key, value)
    refused = engine.preview().failed().output
    assert (
        "engine-test:workers is 'two'; it must be a whole number from 0 to 1000. "
        "Run `pulumi config set engine-test:workers 2 --stack test`."
    ) in refused
    assert "engine-test:worker is no setting of this program; did you mean workers?" in refused
    assert "engine-test:package" not in refused
