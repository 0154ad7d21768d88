"""Curves: how they are given, and the template that places one."""
