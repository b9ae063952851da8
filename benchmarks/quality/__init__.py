"""Quality of predictions against other libraries, on many tables, told apart by Assay's own tests."""
