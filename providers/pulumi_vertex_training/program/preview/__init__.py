"""What a program finds out before a resource is created: missing files, conflicts, missing prerequisites."""
