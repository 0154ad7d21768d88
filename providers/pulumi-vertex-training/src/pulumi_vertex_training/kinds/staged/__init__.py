"""The kinds `StagedPackage` and `StagedFile`: local files uploaded to a bucket."""
