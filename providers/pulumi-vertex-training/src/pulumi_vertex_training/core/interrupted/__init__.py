"""How a killed deployment is continued: by notes on this machine, and by what the state and the service have.

By `creation_notes`, what was created is found again under any name. By `deletion_notes`, an interrupted
deletion is not mistaken for a change by the user. `jobs` finds the jobs that a killed deployment submitted.
"""
