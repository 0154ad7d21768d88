"""Bad input is found before anything is created: every error at once, with path, value and remedy.

`tests/pulumi_vertex_training/plugin/test_refused_inputs.py` has the mistakes of each kind, in the engine's
provider process.
"""

from __future__ import annotations

from typing import Any

from support.engine import Engine

JOB = """
vt.CustomJob("train", **{arguments})
"""
IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"


def pool(count: int = 1, *, machine: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "machine_spec": {"machine_type": "n1-standard-4", **(machine or {})},
        "replica_count": count,
        "container_spec": {"image_uri": IMAGE, "command": ["true"]},
        **more,
    }


def job(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"worker_pool_specs": list(pools), **more}


def test_all_errors_of_a_job_come_at_once(engine: Engine) -> None:
    engine.write(
        JOB.format(
            arguments=job(
                pool(3),
                pool(machine={"accelerator_type": "NVIDIA_TESLA_T4"}),
                pool(machine={"machine_type": "n1-standart-4"}),
                network="n",
                framework="tensorflwo",
            )
        )
    )
    output = engine.preview().failed().output
    for words in (
        "worker_pool_specs[0].replica_count: 3",
        "worker_pool_specs[1].machine_spec.accelerator_count",
        "worker_pool_specs[2].machine_spec.machine_type",
        "projects/PROJECT_NUMBER/global/networks",
        "tensorflwo",
    ):
        assert words in output


def test_reduction_servers_are_counted_in_the_preview(engine: Engine) -> None:
    machine = {
        "machine_type": "n1-highmem-96",
        "accelerator_type": "NVIDIA_TESLA_V100",
        "accelerator_count": 8,
    }
    task = pool(machine=machine)
    engine.write(
        f"""
        chief, workers = vt.chief_worker_pool({task!r}, replica_count=5)
        pools = vt.topology(chief=chief, workers=workers, reduction_servers="auto")
        vt.CustomJob("train", worker_pool_specs=pools, framework="MultiWorkerMirroredStrategy")
        """
    )
    output = engine.preview("--diff").ok().output
    assert "16 reduction servers have 512 Gbps, enough for 500" in output
    assert "reductionserver:latest" in output


def test_with_allow_unknown_types_an_unknown_machine_is_a_warning_and_runs(engine: Engine) -> None:
    machine = {"machine_type": "n9-standard-4"}
    engine.write(JOB.format(arguments=job(pool(machine=machine), allow_unknown_types=True)))
    assert "warning: train: worker_pool_specs[0].machine_spec.machine_type" in engine.up().ok().output


def test_all_errors_of_a_resource_come_at_once(engine: Engine) -> None:
    engine.write(
        """
        rule = {"action": {"type": "Go"}}
        vt.StagingBucket("b", name="Bad_Name..", location="mars", lifecycle_rules=[rule], colour="red")
        """
    )
    output = engine.preview().failed().output
    for words in (
        "Bad_Name..",
        "mars",
        "lifecycle_rules[0].action.type",
        "lifecycle_rules[0].condition",
        "colour",
    ):
        assert words in output
    assert not engine.data_dir.exists()


def test_a_source_that_does_not_exist_is_named(engine: Engine) -> None:
    engine.write('vt.StagedPackage("p", bucket="some-bucket", source="../no-such-thing")\n')
    output = engine.preview().failed().output
    assert "source: " in output
    assert "no-such-thing" in output
    assert "does not exist" in output


def test_all_missing_files_of_a_program_are_named_at_once(engine: Engine) -> None:
    engine.write("""
    vt.StagedPackage("p", bucket="b-1", source="no.py", extra_files={"x": "no-x", "y": "__main__.py"})
    vt.StagedFile("f", bucket="b-1", source="no.csv")
    vt.TrainingImage("i", repository="us-docker.pkg.dev/p/r", source="no-folder", requirements="no.txt")
    vt.StagedFile("good", bucket="b-1", source="__main__.py")
    """)
    output = engine.preview().failed().output
    lines = [line.strip().removeprefix("error: ") for line in output.splitlines()]
    missing = [
        "p: source: no.py",
        "p: extra_files['x']: no-x",
        "f: source: no.csv",
        "i: source: no-folder",
        "i: requirements: no.txt",
    ]
    expected = [f"{each} does not exist in {engine.folder / 'infra'}. Correct the path." for each in missing]
    start = lines.index(expected[-1]) - len(expected) + 1
    assert lines[start : start + len(expected)] == expected


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


def test_a_package_with_two_modules_and_no_task(engine: Engine) -> None:
    (engine.folder / "infra" / "net").mkdir()
    for name in ("model", "train"):
        (engine.folder / "infra" / "net" / f"{name}.py").write_text("")
    engine.write("""
    vt.DistributedTraining("train", bucket="some-bucket", package={"source": "net"},
        executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
        chief=vt.WorkerPoolSpecArgs(machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4")))
    """)
    assert (
        "no module of the packages is clearly the program; name one: net.model, net.train"
    ) in engine.preview().failed().output


def test_a_misspelt_argument_of_a_resource_is_named(engine: Engine) -> None:
    engine.write(JOB.format(arguments=job(pool(), servce_account="x")))
    output = engine.preview().failed().output
    assert "servce_account" in output
    assert "did you mean service_account?" in output


def test_a_misspelt_argument_of_an_args_class_is_one_line(engine: Engine) -> None:
    engine.write('vt.MachineSpecArgs(machine_tpye="n1-standard-4")\n')
    output = engine.preview().failed().output
    assert "MachineSpecArgs: 'machine_tpye' is not an argument; did you mean machine_type?" in output


def test_an_invalid_configuration_is_refused_with_the_remedy(engine: Engine) -> None:
    engine.write('vt.StagingBucket("b", name="some-bucket")\n')
    output = engine.preview("--config", "vertex-training:endpoint=emulater").failed().output
    assert "vertex-training:endpoint is 'emulater'" in output
    assert "pulumi config set vertex-training:endpoint emulator" in output


def test_a_secret_is_not_shown_when_it_is_refused(engine: Engine) -> None:
    engine.write(
        """
        hidden = pulumi.Output.secret
        machine = vt.MachineSpecArgs(machine_type=hidden("n1-classified-8"))
        pool = vt.WorkerPoolSpecArgs(
            machine_spec=machine,
            replica_count=hidden(37),
            container_spec={
                "image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
                "env": [{"name": "PASSWORD", "value": hidden("hunter2")}],
            },
        )
        vt.CustomJob(
            "train",
            worker_pool_specs=[pool] * 5,
            network=hidden("confidential-net"),
            labels={"team": hidden("Top Secret")},
        )
        """
    )
    output = engine.preview().failed().output
    for reported in (
        "worker_pool_specs[0].machine_spec.machine_type: [secret] is not a machine type",
        "worker_pool_specs[0].replica_count: [secret]",
        "network: [secret]",
        "projects/PROJECT_NUMBER/global/networks",
        "labels.team: [secret]",
        "there are 5 worker pools",
    ):
        assert reported in output
    for hidden in (
        "n1-classified-8",
        "37",
        "confidential-net",
        "Top Secret",
        "top_secret",
        "top-secret",
        "hunter2",
    ):
        assert hidden not in output


def test_a_job_that_was_refused_at_first_has_not_run_yet(engine: Engine) -> None:
    engine.write(JOB.format(arguments=job(pool(3), wait="none")))
    assert "worker_pool_specs[0].replica_count: 3" in engine.up().failed().output
    engine.write(JOB.format(arguments=job(pool(3), wait="none", labels={"team": "a"})))
    assert "will run" not in engine.up().failed().output
    engine.write(JOB.format(arguments=job(pool(), wait="none")))
    assert "will run" not in engine.up().ok().output
    (run,) = [one for one in engine.checkpoint()["resources"] if one["type"].endswith(":Run")]
    assert run["outputs"]["generation"] == 1
    another = pool(container_spec={"image_uri": IMAGE, "command": ["false"]})
    engine.write(JOB.format(arguments=job(another, wait="none")))
    assert "train will run again: its spec changed" in engine.up().ok().output
