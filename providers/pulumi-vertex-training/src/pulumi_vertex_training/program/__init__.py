"""Code of the Pulumi program's process: base classes of resources, arguments, waiting."""
