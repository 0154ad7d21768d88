"""All that an emulator holds, as one file: exported, imported, or removed.

Jobs with their logs, buckets and objects, images and their repositories. Not in it: what a test sets (faults,
quotas, start delay, clock), virtual environments, uploads under way, settings of whole projects in Artifact
Registry, and the files that replicas left outside of buckets.
"""
