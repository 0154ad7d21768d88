"""What a document says, whatever its kind."""
