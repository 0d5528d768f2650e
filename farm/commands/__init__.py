"""What each command does; `farm.cli` parses and calls."""
