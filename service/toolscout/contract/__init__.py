"""The HTTP contract: structs of requests and answers, and every bound on a field.

Bodies arrive as bytes. The envelope keeps `tools` raw, so a catalog that is already known
is found by the hash of those bytes and no tool is parsed.
"""
