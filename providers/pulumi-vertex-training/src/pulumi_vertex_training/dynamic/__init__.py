"""Pulumi's host of dynamic providers: the process, its threads, Ctrl-C, and the engine that it serves."""
