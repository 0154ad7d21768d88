"""The addresses of a job's replicas: loopback addresses of this machine, or a network of the job's own."""
