"""Resources whose ids are made from their names keep them when an alias renames them, on the real engine."""

from __future__ import annotations

from support.engine import Engine

SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
PROGRAM = """
def was(name):
    return pulumi.ResourceOptions(aliases=[pulumi.Alias(name=name)] if name else [])

model = vt.Model(
    {model!r},
    container_spec={{"image_uri": "{serving}", "predict_route": {route!r}}},
    opts=was({old_model!r}),
)
machines = vt.PersistentResource(
    {machines!r},
    resource_pools=[{{"machine_spec": {{"machine_type": {machine!r}}}, "replica_count": 1}}],
    opts=was({old_machines!r}),
)
pulumi.export("model", model.model_id)
pulumi.export("machines", machines.persistent_resource_id)
"""
OLD = {"model": "digits", "machines": "GPUs"}
NEW = {"model": "numbers", "machines": "pool"}


def write(
    engine: Engine,
    *,
    model: str,
    machines: str,
    old_model: str = "",
    old_machines: str = "",
    route: str = "/first",
    machine: str = "n1-standard-4",
) -> None:
    engine.write(PROGRAM.format(**{**locals(), "serving": SERVING}))


def test_a_renamed_resource_keeps_its_id(engine: Engine) -> None:
    write(engine, **OLD)
    engine.up().ok()
    ids = engine.outputs()
    assert ids == {"model": "digits", "machines": "gpus"}

    renamed = {**NEW, "old_model": OLD["model"], "old_machines": OLD["machines"]}
    write(engine, **renamed)
    assert "replace" not in engine.up().ok().output
    assert engine.outputs() == ids
    write(engine, **NEW)
    assert "unchanged" in engine.preview("--expect-no-changes").ok().output

    write(engine, **NEW, route="/second", machine="n1-standard-8")
    assert "2 replaced" in engine.up().ok().output
    assert engine.outputs() == ids
    assert "unchanged" in engine.preview("--expect-no-changes").ok().output
