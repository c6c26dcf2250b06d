"""The decode step in C++: packed weights, and whole passes in one call, where it can be had."""
