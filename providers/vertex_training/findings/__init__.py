"""Rules, the findings that break them, and the sentences for both."""
