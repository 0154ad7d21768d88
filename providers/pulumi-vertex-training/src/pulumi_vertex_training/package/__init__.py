"""The package `vertex-training`: a plugin that serves the core to Pulumi programs in every language."""
