"""`promote`: run in one stack exactly the images and packages that another stack has run."""
