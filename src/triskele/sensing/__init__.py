"""What encoders know about a bending link: its deflection, and where the tool really is."""
