"""The command `completion`, and the completion of a command line that a shell asks for."""
