"""Training jobs of legacy AI Platform, and the command that submitted them: reading, rules, conversion."""
