"""The documentation site: `make docs` builds docs/ with Zensical (mkdocs.yml) and checks the built pages."""
