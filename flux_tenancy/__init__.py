"""The one import name of the product, in this checkout as in its wheel: links to the packages at the top."""
