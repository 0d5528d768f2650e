"""From an experiment to readouts: components, fitted monitors, a stream through the system."""
