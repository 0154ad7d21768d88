package main

import (
	"context"
	"time"

	aiplatform "cloud.google.com/go/aiplatform/apiv1"
	"cloud.google.com/go/aiplatform/apiv1/aiplatformpb"
	"golang.org/x/oauth2"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const place = "projects/local/locations/us-central1"

// jobs creates, reads, lists and cancels a job over gRPC, the only transport of this library.
func jobs(ctx context.Context, token oauth2.TokenSource) map[string]any {
	client, err := aiplatform.NewJobClient(ctx, option.WithTokenSource(token),
		option.WithEndpoint("us-central1-aiplatform.googleapis.com:443"))
	check(err)
	defer client.Close()
	created, err := client.CreateCustomJob(ctx, &aiplatformpb.CreateCustomJobRequest{
		Parent: place,
		CustomJob: &aiplatformpb.CustomJob{
			DisplayName: "from-go",
			JobSpec: &aiplatformpb.CustomJobSpec{WorkerPoolSpecs: []*aiplatformpb.WorkerPoolSpec{{
				MachineSpec:  &aiplatformpb.MachineSpec{MachineType: "n1-standard-4"},
				ReplicaCount: 1,
				Task: &aiplatformpb.WorkerPoolSpec_ContainerSpec{ContainerSpec: &aiplatformpb.ContainerSpec{
					ImageUri: "python:3.11", Command: []string{"sleep", "600"}}},
			}}},
		},
	})
	check(err)
	names := []string{}
	jobs := client.ListCustomJobs(ctx, &aiplatformpb.ListCustomJobsRequest{Parent: place, Filter: `display_name="from-go"`})
	for {
		job, err := jobs.Next()
		if err == iterator.Done {
			break
		}
		check(err)
		names = append(names, job.GetDisplayName())
	}
	check(client.CancelCustomJob(ctx, &aiplatformpb.CancelCustomJobRequest{Name: created.GetName()}))
	job := created
	for job.GetEndTime() == nil {
		time.Sleep(100 * time.Millisecond)
		job, err = client.GetCustomJob(ctx, &aiplatformpb.GetCustomJobRequest{Name: created.GetName()})
		check(err)
	}
	_, err = client.GetCustomJob(ctx, &aiplatformpb.GetCustomJobRequest{Name: place + "/customJobs/1"})
	return map[string]any{
		"listed":  names,
		"state":   job.GetState().String(),
		"missing": status.Code(err) == codes.NotFound,
	}
}
