"""An example for each resource: `custom_job.py` is that of `CustomJob`."""
