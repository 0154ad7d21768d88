"""What is wrong with a study."""
