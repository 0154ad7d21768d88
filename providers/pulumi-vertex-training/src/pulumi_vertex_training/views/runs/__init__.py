"""Read the runs of a resource, their results and costs, and compare them."""
