"""The flow of a proxy: a turn of the model, from its tools to its calls."""
