"""The HTTP server: connections, authentication, and routing of requests to their handlers."""
