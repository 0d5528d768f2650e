.PHONY: check lint test format

check: lint test

lint:
	ruff format --check .
	ruff check .
	mypy
	lint-imports

test:
	python -m pytest

format:
	ruff format .
	ruff check --fix .
