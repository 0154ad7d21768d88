"""Pulumi's state: the hidden properties of a job in it, and how the state of the deployed stack is read."""
