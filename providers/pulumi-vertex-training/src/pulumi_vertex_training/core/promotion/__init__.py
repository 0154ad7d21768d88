"""Promotions: content that a stack uses without making it, because another stack has tried it.

`entries` reads and writes the stack's configuration, and hands a resource its entry as an input. `packages`
and `images` copy what the entries name. `vertex-training promote` (`cli.promote`) chooses what is promoted.
"""
