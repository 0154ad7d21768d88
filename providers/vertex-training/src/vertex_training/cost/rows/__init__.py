"""The rows of the price table, one module for each group of SKUs."""
