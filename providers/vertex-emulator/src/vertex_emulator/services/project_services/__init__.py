"""The services about a project itself: services, quotas, usage, permissions, policy, accounts, networks."""
