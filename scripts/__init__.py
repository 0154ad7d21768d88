"""The chores of a clone: set-up, up, down, test, check. Standard library only; run by `scripts/chore`."""
