"""Laws of one joint: friction, motors with their gears, springs."""
