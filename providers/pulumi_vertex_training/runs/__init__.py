"""The workflow of anything that runs once: find or submit, watch, cancel, delete; parameterised by kind."""
