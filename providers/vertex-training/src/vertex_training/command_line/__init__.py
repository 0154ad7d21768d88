"""What the commands share: arguments, answers, how these are printed, and errors with their exit codes."""
