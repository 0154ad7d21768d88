"""Worker pools: roles, rules, normal form, and the difference of two lists of them. Pure."""
