"""See blank_node_hashes.pxd. Numbers such as 4.8.3 are sections of the Recommendation."""
