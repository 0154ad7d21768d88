"""The container registry: version 1.1 of the OCI distribution specification on the emulator's port.

What a name means is in `names`, what is kept in `registry` (for the other services of the emulator, too), and
what is asked over HTTP in `service`.
"""
