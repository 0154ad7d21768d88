"""The provider process: bases of the providers, what one operation knows, settings."""
