"""Calls of Google Cloud: clients, retries and one hierarchy of exceptions.

Every function takes an `Endpoint` first, for Google and the emulator alike. Importing this package imports no
Google package: a preview must not load what it does not call.
"""
