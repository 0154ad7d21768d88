"""Chores of a clone, such as setup, up, down, test and check. Standard library only; see `scripts/chore`."""
