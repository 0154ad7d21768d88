"""The parts of an environment that only Google Cloud has, made with pulumi_gcp."""
