"""Load as proxies make it: locust users for each shape of traffic, and a verdict at the end."""
