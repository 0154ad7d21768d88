"""Read-only calls about a project: caller, services, permissions, quotas, capacity and networks."""
