"""Pools by role, and so many replicas with one machine and task."""

import pulumi_vertex_training as vt

pool = vt.WorkerPoolSpecArgs(
    machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
    container_spec=vt.ContainerSpecArgs(image_uri="europe-docker.pkg.dev/my-project/training/digits:1"),
)

by_role = vt.topology(chief=pool, workers=pool, evaluator=pool)
alike = vt.chief_worker_pool(pool, replica_count=4)

legacy = vt.from_training_input(
    {
        "trainingInput": {
            "scaleTier": "CUSTOM",
            "masterType": "n1-standard-4",
            "masterConfig": {"imageUri": "europe-docker.pkg.dev/my-project/training/digits:1"},
            "region": "europe-west4",
        }
    }
)
