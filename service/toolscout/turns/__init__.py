"""A whole turn of a model, for every provider; `toolscout.discovery` has the public names."""
