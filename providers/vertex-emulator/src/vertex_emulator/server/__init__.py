"""How calls arrive: HTTP, gRPC, the proxy, Google's message definitions, and permissions."""
