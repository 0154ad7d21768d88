"""Reading what a project says, never running it."""
