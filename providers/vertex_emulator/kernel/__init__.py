"""What all services share: the data folder, the database, the clock, the scheduler and locks."""
