"""Files of tools that people have: lists of any provider, OpenAPI documents, JSON and YAML."""
