"""Reports as one HTML page each, which needs nothing beside it: `audit`, `diff` and `patch`."""
