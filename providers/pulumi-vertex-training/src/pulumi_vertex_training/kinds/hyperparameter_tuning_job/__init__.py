"""The `HyperparameterTuningJob` resource."""
