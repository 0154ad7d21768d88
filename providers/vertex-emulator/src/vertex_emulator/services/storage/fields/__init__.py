"""The fields of buckets and objects that a client may send, checked."""
