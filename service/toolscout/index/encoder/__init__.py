"""A second reading of queries and tools: a small transformer beside the static model.

A text costs some 10 ms of a core, a thousand times as much as with the static model. So tools are
read in the background, and a query only while its search has time for that.
"""
