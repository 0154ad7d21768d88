"""The commands `top` and `watch`: jobs on a terminal as they change."""
