"""The view of two or more runs side by side."""
