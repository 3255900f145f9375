"""The commands, one a file: each parses, calls one public function, hands its value to a report, returns a status."""
