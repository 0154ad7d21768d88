"""The process of a Pulumi program: bases of the resources, arguments, waiting."""
