"""The provider of every kind of job: what it does at each call of the engine."""
