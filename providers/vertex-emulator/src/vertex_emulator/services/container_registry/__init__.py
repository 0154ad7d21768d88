"""The container registry: version 1.1 of the OCI distribution specification on the emulator's port.

`names` parses names, `registry` stores images (also for the emulator's other services), and `service` has the
HTTP routes.
"""
