"""The documentation site: pages that are generated, links between pages, and the build."""
