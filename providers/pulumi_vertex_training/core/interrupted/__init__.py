"""Notes of what a deployment began, on this machine: the next one continues a killed one by them."""
