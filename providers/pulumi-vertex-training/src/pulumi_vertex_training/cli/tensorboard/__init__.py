"""The command `tensorboard`: the logs of jobs in TensorBoard."""
