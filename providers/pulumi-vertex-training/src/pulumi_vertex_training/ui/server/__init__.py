"""The server of the dashboard: access, pages, and the streams that keep open pages up to date."""
