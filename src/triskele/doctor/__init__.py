"""What a robot or mechanism file cannot mean: each rule judges numbers against the others."""
