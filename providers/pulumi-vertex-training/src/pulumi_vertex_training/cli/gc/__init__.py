"""The command `gc`, which finds and deletes orphaned jobs."""
