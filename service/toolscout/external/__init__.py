"""Catalogs that PostgreSQL keeps tool by tool, because no process could hold them."""
