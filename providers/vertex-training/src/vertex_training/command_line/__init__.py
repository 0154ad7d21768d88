"""The parts that all commands share: arguments, answers, how these are printed, errors with exit codes."""
