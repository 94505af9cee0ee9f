"""From prepared data, or a simulation, to an `EventStream`."""
