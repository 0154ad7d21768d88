"""`make verify-google`: deploy to Google Cloud and to the emulator, compare, and delete everything.

The programs are `infra/`, in an environment of its own, and `jobs/`, which has one job of each kind. Every
command is written to a journal before it starts (`journal.py`), and what the programs can cost is counted
first (`budget.py`). The guide is docs/architecture/verify-google.md.

It is here, and not in `tests/`, because it is a command that spends money: strict types and all checks of
`make check` hold for it.
"""
