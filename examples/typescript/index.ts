// Digits, trained by a chief and a worker.

import * as pulumi from "@pulumi/pulumi";
import * as vertex_training from "pulumi-vertex-training";

const config = new pulumi.Config();
const workers = config.getNumber("workers") ?? 1;
const epochs = config.getNumber("epochs") ?? 5;

const data = new vertex_training.StagingBucket("data", { forceDestroy: true });
const digits = new vertex_training.StagedFile("digits", {
    bucket: data.name,
    source: "../digits/data/digits.csv.gz",
});
const code = new vertex_training.StagedPackage("code", {
    bucket: data.name,
    source: "../digits",
    vertexCluster: true,
});

function trainers(replicaCount: number): vertex_training.types.input.WorkerPoolSpecArgs {
    return {
        machineSpec: { machineType: "n1-standard-4" },
        replicaCount: replicaCount,
        pythonPackageSpec: {
            executorImageUri: "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
            packageUris: [code.uri],
            pythonModule: "digits_trainer.task",
            args: [pulumi.interpolate`--data=${digits.path}`, `--epochs=${epochs}`],
        },
    };
}

const train = new vertex_training.CustomJob("train", {
    stagingBucket: data.name,
    wait: "done",
    workerPoolSpecs: [trainers(1), trainers(workers)],
});

export const state = train.state;
export const metrics = train.metrics;
