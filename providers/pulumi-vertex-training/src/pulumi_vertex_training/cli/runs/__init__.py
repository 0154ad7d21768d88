"""The command `runs`, which lists the runs of a resource."""
