"""Trees of files, and the image layers that are written from them."""
