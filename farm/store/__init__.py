"""What is kept on disk: caches and their keys, fitted state, images, readouts, folders of runs, locks."""
