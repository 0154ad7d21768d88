"""Notes of what a deployment began, on this machine: the next one continues a killed one by them.

By `creations`, what was created is found again under any name. By `deletions`, an interrupted deletion is not
mistaken for a change by the user.
"""
