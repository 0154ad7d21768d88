"""Machines, accelerators, regions, images. A leaf."""
