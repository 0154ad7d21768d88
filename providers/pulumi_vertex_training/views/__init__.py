"""What the kinds' views and the command share."""
