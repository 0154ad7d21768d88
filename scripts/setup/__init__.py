"""Install the Python packages of the clone, write their lock files, and delete all that is installed."""
