"""Shared by all services: the data folder, the database, the clock, the scheduler and locks."""
