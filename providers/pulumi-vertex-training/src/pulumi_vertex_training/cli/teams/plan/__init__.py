"""`plan`: the effect of the next deployment on each resource, from `pulumi preview --json`."""
