"""Views of results, shared by the views of the kinds and the command."""
