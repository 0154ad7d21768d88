"""The kinds of resources: one package for each kind. `registry` lists them."""
