"""The registry of images of any host: the OCI distribution specification 1.1 on the emulator's one port.

What a name means is in `names`, what is kept in `registry` (for the other services of the emulator, too), and
what is asked over HTTP in `service`.
"""
