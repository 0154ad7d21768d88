"""The metrics of a job as curves: what its program has reported, and its TensorBoard logs."""
