"""From a list that nobody sent before to a catalog: queue, look-up, threads."""
