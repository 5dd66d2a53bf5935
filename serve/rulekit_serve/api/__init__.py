"""The endpoints, a file for each subject."""
