"""All that an emulator holds, as one file: exported, imported, or removed.

Jobs with their logs, what is made of jobs or stands beside them, buckets and objects, images and their
repositories. Not in it: what a test sets (faults, quotas, delays, clock, seed), virtual environments, uploads
under way, operations, file shares, settings of whole projects in Artifact Registry, and the files that
replicas left outside of buckets.
"""
