"""Small wrong changes to chosen files, to see whether the tests notice them."""
