"""Snapshot and reset of an emulator's whole state; a snapshot is one tar file.

    manifest.json               the version of this package, and the versions of the tables
    jobs/ID/state.json          the replicas of a job
    jobs/ID/logs/TASK.jsonl     the log of a task
    objects/NAME                the content of an object: NAME is its column `incoming`
    blobs/ALGORITHM/N           a blob of an image
    state.sqlite3               a copy of the database, as if no object had left objects-incoming yet

It does not have what `tables.LEFT_OUT` lists, virtual environments, file shares, or files that replicas left
outside of buckets.
"""
