"""Trees of files and the image layers made from them."""
