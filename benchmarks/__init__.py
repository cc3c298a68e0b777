"""Speed and accuracy, as ratios to the best alternative, measured in the same run; `make bench` prints them."""
