"""The kind `PersistentResource`: machines that stay, on which training jobs start at once."""
