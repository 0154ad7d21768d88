"""What the provider of a kind that runs does at each call of the engine, whatever the kind."""
