"""The kinds of resources, a package each; `registry` lists them."""
