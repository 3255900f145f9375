"""Speed and memory of an audit against the floor: `python -m tests.bench`."""
