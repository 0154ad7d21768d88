"""The HTTP server: connections, authentication, and routes from a request to its handler."""
