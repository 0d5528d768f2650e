"""From YAML to a typed experiment."""
