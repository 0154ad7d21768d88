"""Cloud Scheduler: jobs that call the emulator's own APIs at the times of a cron expression."""
