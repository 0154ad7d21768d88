"""How a replica runs: its image, packages, sandbox, network, and the supervisor of a job."""
