"""The address and the users of a repository on the real engine.

`tests/pulumi_vertex_training/kinds/image_repository` has what its provider does.
"""

from __future__ import annotations

from support.client.engine import Engine

URL = "us-central1-docker.pkg.dev/local"
PROGRAM = """
trainers = vt.ImageRepository("trainers", repository_id="trainers")
pulumi.export("trainers", [trainers.url, trainers.registry_host, trainers.id])
"""


def test_the_address_is_known_in_a_preview(engine: Engine) -> None:
    engine.write(PROGRAM)
    planned, made = engine.preview_and_up("--diff")
    assert f"{URL}/trainers" in planned.ok().output
    made.ok()
    name = "projects/local/locations/us-central1/repositories/trainers"
    assert engine.outputs()["trainers"] == [f"{URL}/trainers", URL.partition("/")[0], name]


USED = """
used = vt.ImageRepository("used", repository_id="used", force_destroy=True, kms_key_name=KEY)
source = {"source": "trainer", "base_image": "python:3.11-slim", "command": ["python3", "task.py"]}
image = vt.TrainingImage("digits", repository=used, **source)
pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "container_spec": {"image_uri": image}}
vt.CustomJob("train", worker_pool_specs=[{**pool, "replica_count": 1}], wait="none")
"""


def test_what_uses_a_repository_is_replaced_with_it(engine: Engine) -> None:
    (engine.folder / "infra" / "trainer").mkdir()
    (engine.folder / "infra" / "trainer" / "task.py").write_text("print('trained')\n")
    engine.write(f"KEY = None\n{USED}")
    engine.up().ok()
    engine.write(f"KEY = 'projects/p/locations/us-central1/keyRings/r/cryptoKeys/k'\n{USED}")
    assert "3 replaced" in engine.up().ok().output
