"""The product: one module a component, and beside it the plain data it is made of."""
