"""Robots whose links bend: natural frequencies everywhere, and what the tool does on its way."""
