"""The list of experiments, and the page of one: its runs as a table, and their time series as curves."""
