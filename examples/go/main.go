// Digits, trained by a chief and a worker.
package main

import (
	"fmt"

	"example.com/pulumi-vertex-training/sdk/go/vertextraining"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(train)
}

func train(ctx *pulumi.Context) error {
	settings := config.New(ctx, "")
	workers, epochs := settings.GetInt("workers"), settings.GetInt("epochs")
	data, err := vertextraining.NewStagingBucket(ctx, "data", &vertextraining.StagingBucketArgs{
		ForceDestroy: pulumi.Bool(true),
	})
	if err != nil {
		return err
	}
	digits, err := vertextraining.NewStagedFile(ctx, "digits", &vertextraining.StagedFileArgs{
		Bucket: data.Name,
		Source: pulumi.String("../digits/data/digits.csv.gz"),
	})
	if err != nil {
		return err
	}
	code, err := vertextraining.NewStagedPackage(ctx, "code", &vertextraining.StagedPackageArgs{
		Bucket:        data.Name,
		Source:        pulumi.String("../digits"),
		VertexCluster: pulumi.Bool(true),
	})
	if err != nil {
		return err
	}
	trainers := func(replicaCount int) vertextraining.WorkerPoolSpecArgs {
		return vertextraining.WorkerPoolSpecArgs{
			MachineSpec:  vertextraining.MachineSpecArgs{MachineType: pulumi.String("n1-standard-4")},
			ReplicaCount: pulumi.Int(replicaCount),
			PythonPackageSpec: vertextraining.PythonPackageSpecArgs{
				ExecutorImageUri: pulumi.String("us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"),
				PackageUris:      pulumi.StringArray{code.Uri},
				PythonModule:     pulumi.String("digits_trainer.task"),
				Args: pulumi.StringArray{
					pulumi.Sprintf("--data=%s", digits.Path),
					pulumi.String(fmt.Sprintf("--epochs=%d", max(epochs, 5))),
				},
			},
		}
	}
	job, err := vertextraining.NewCustomJob(ctx, "train", &vertextraining.CustomJobArgs{
		StagingBucket:   data.Name,
		Wait:            vertextraining.WaitDone,
		WorkerPoolSpecs: vertextraining.WorkerPoolSpecArray{trainers(1), trainers(max(workers, 1))},
	})
	if err != nil {
		return err
	}
	ctx.Export("state", job.State)
	ctx.Export("metrics", job.Metrics)
	return nil
}
