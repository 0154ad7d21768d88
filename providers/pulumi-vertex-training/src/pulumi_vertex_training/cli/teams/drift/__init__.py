"""`drift`: what has changed behind a stack's back, from a refresh that writes nothing."""
