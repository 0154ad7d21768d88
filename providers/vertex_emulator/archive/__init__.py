"""Export, import and reset of an emulator's whole state, as one file.

The file has jobs with their logs, all other resources of Vertex AI, written log entries, buckets and objects,
images and their repositories. It does not have the settings of tests (faults, quotas, delays, clock, seed),
virtual environments, unfinished uploads, operations, file shares, settings of whole projects in Artifact
Registry, or files that replicas left outside of buckets.
"""
