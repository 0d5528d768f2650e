"""The parsers of the command line; nothing here imports more than argparse, so that help comes at once."""
