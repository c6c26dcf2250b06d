"""The pipeline that trains the small demonstration voice; not part of the installed package."""
