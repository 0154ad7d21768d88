"""The calls of Google Cloud: clients, retries and one tree of exceptions.

Every function takes an `Endpoint` first, Google and the emulator alike. Importing this package imports no
Google package: a preview must not pay for what it does not call.
"""
