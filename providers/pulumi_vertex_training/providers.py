"""Dynamic providers, one module a resource kind. Module and class names are part of the state format: each
state records them (see docs/architecture.md, "State format"); never rename one without leaving an alias."""
