"""What each replica of a job finds in its environment. Pure."""
