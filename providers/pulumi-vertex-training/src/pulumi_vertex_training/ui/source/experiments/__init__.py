"""Experiments of the metadata store, their runs, and the time series of their Tensorboard."""
