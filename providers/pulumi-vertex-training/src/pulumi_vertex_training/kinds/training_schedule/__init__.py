"""`TrainingSchedule`: runs a declared job again at the times of a cron expression."""
