"""Going through its instructions."""
