"""Google's methods over gRPC, beside HTTP."""
