"""What is wrong with what runs, beside its pools."""
