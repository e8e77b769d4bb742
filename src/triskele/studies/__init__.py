"""Published experiments, one module each: what the paper printed beside what we compute."""
