"""`make verify-google`: compare the emulator with Google Cloud, within a budget.

The cases (`cases/`) are run against an emulator and against Google Cloud by the same code. Every creation is
written to a journal before it is sent (`journal.py`), every job is counted against the budget first
(`budget.py`), and everything is deleted again (`cleanup.py`). The guide is
docs/architecture/verify-google.md.

It is here, and not in `tests/`, because it is a command that spends money: strict types and all checks of
`make check` hold for it.
"""
