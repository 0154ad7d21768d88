"""How results look: what the views of the kinds and the command share."""
