"""What a client may send of a bucket or an object."""
