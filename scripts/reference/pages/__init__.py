"""One module for each page of docs/reference/, or for pages of one form."""
