"""The pages of the dashboard, a folder for each: what it reads, and its templates.

To add a page, write a folder with a `Page` and add it to `pages/all_pages.py`.
"""
