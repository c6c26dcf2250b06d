"""Tells whether a quantised file, a precision or a device still speaks as the model does."""
