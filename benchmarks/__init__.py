"""Speed of the library, measured as ratios to a plain C loop: `make bench`."""
