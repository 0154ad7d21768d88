"""Pictures of a topology: one drawing of the worker pools, as SVG, as Mermaid, and on the page of a job."""
