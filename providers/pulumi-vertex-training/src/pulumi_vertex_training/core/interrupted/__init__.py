"""How a killed deployment is continued: by notes on this machine, and by what the state and the service have.

By `creations`, what was created is found again under any name. By `deletions`, an interrupted deletion is not
mistaken for a change by the user. `jobs` finds the jobs that a killed deployment submitted.
"""
