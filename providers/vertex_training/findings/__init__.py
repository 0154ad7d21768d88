"""A rule, a finding that breaks it, and the words for both."""
