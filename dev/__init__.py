"""What maintainers use and the wheel does not contain: the lab, the measurements, and the generators of pages."""
