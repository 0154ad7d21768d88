"""The whole state of an emulator as one file: export, import and reset.

Jobs with their logs, what is made of jobs or stands beside them, buckets and objects, images and their
repositories. Not in it: what a test sets (faults, quotas, delays, clock, seed), virtual environments, uploads
under way, operations, file shares, settings of whole projects in Artifact Registry, and the files that
replicas left outside of buckets.
"""
