"""Bad input is found before anything is created: every error at once, with path, value and remedy.

`tests/pulumi_vertex_training/core/test_refused_inputs.py` has the mistakes of each kind, in the engine's
provider process. `test_mistakes.py` has those that the program itself finds.
"""

from __future__ import annotations

from support.client.engine import Engine

CONTAINER = (
    '{"image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest", "command": ["true"]}'
)


def test_all_errors_of_a_job_come_at_once_without_its_secrets(engine: Engine) -> None:
    engine.write(
        f"""
        hidden = pulumi.Output.secret
        secret = vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type=hidden("n1-classified-8")),
            replica_count=hidden(7391),
            container_spec={{**{CONTAINER}, "env": [{{"name": "PASSWORD", "value": hidden("hunter2")}}]}},
        )
        machine = {{"machine_type": "n1-standard-4", "accelerator_type": "NVIDIA_TESLA_T4"}}
        counted = {{"machine_spec": machine, "replica_count": 1, "container_spec": {CONTAINER}}}
        misspelt = {{**counted, "machine_spec": {{"machine_type": "n1-standart-4"}}}}
        vt.CustomJob(
            "train",
            worker_pool_specs=[secret, counted, misspelt, secret, secret],
            framework="tensorflwo",
            network=hidden("confidential-net"),
            labels={{"team": hidden("Top Secret")}},
        )
        """
    )
    output = engine.preview().failed().output
    for reported in (
        "worker_pool_specs[0].machine_spec.machine_type: [secret] is not a machine type",
        "worker_pool_specs[0].replica_count: [secret]",
        "worker_pool_specs[1].machine_spec.accelerator_count",
        "worker_pool_specs[2].machine_spec.machine_type",
        "there are 5 worker pools",
        "tensorflwo",
        "network: [secret]",
        "projects/PROJECT_NUMBER/global/networks",
        "labels.team: [secret]",
    ):
        assert reported in output
    for hidden in (
        "n1-classified-8",
        "7391",
        "confidential-net",
        "Top Secret",
        "top_secret",
        "top-secret",
        "hunter2",
    ):
        assert hidden not in output
    assert not engine.data_dir.exists()


def test_with_allow_unknown_types_an_unknown_machine_is_a_warning_and_runs(engine: Engine) -> None:
    engine.write(
        f"""
        pool = {{"machine_spec": {{"machine_type": "n9-standard-4"}}, "replica_count": 1}}
        pools = [{{**pool, "container_spec": {CONTAINER}}}]
        vt.CustomJob("train", worker_pool_specs=pools, allow_unknown_types=True)
        """
    )
    assert "warning: train: worker_pool_specs[0].machine_spec.machine_type" in engine.up().ok().output


def test_a_module_that_the_package_does_not_contain(engine: Engine) -> None:
    (engine.folder / "infra" / "net").mkdir()
    (engine.folder / "infra" / "net" / "task.py").write_text("")
    engine.write("""
    package = vt.StagedPackage("p", bucket="some-bucket", source="net")
    vt.CustomJob("train", worker_pool_specs=[vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        python_package_spec=vt.PythonPackageSpecArgs(
            executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
            package_uris=[package.uri],
            python_module="net.tsk",
        ),
    )])
    """)
    assert (
        "worker_pool_specs[0].python_package_spec.python_module: 'net.tsk' is not in the packages; "
        "did you mean net.task? They contain net.task"
    ) in engine.preview().failed().output
