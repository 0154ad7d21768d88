"""What Pulumi's state keeps of a job, and how the state of the stack that is deployed is read."""
