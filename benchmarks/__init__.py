"""Speed and accuracy, each as ratios in one run against the best alternative; `make bench` prints them."""
