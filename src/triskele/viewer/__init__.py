"""The robot in a browser: drag its tool, play motions with their loads, watch links bend."""
