"""`apply`: deploy a saved plan, and nothing else."""
