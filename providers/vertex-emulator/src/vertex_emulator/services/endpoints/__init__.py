"""EndpointService: endpoints as records, without deployed models."""
