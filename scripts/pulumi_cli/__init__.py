"""The Pulumi CLI of the chores: where it comes from, and the files and locks of its backend."""
