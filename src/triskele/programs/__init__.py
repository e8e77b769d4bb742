"""Laws as straight-line programs: traced once, simplified once, run at the speed of the machine."""
