"""The only room that talks to an API: one gateway per service, own exceptions, retry.

Every function takes an `Endpoint` first, Google and the emulator alike. Importing this package imports no
Google package: a preview must not pay for what it does not call.
"""
