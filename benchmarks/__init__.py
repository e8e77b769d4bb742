"""Speed of the library, measured as ratios to plain C loops and other engines: `make bench`."""
