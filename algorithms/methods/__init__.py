"""The methods, one module each: what a method declares. Its kernel and its literal form are imported when needed."""
