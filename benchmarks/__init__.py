"""Measure speed and accuracy as ratios to the best alternative, in the same run; `make bench` prints them."""
