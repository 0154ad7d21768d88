"""StagedPackage, StagedFile."""
