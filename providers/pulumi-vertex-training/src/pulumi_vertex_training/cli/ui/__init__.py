"""The options of the command `ui`, which the package of the dashboard runs."""
