"""TensorboardService: tensorboards with experiments, runs and time series."""
