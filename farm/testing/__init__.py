"""What helps to test components, ours and other people's: fakes with the real interface."""
