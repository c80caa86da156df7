"""The decisions of a call, without any input or output: the same for both selectors."""
