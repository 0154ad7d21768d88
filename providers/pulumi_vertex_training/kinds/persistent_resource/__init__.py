"""PersistentResource."""
