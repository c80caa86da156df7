"""The proxy's four strategies, and the local searches and scores they rest on."""
