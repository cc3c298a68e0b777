"""The maximin exponent and what follows from it."""
