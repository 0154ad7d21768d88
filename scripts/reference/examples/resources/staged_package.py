"""A folder of modules as a package, and the pool that installs and runs it."""

import pulumi_vertex_training as vt

bucket = vt.StagingBucket("packages")
package = vt.StagedPackage(
    "trainer", bucket=bucket, source="trainer", requirements=["numpy"], vertex_cluster=True
)

pool = vt.WorkerPoolSpecArgs(
    machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
    python_package_spec=vt.PythonPackageSpecArgs(
        executor_image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        package_uris=[package.uri],
        python_module="trainer.task",
    ),
)
