"""An example for each group of functions."""
