"""HyperparameterTuningJob."""
