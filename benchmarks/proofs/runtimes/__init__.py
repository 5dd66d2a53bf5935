"""One exported model in every runtime that users have: cases on disk, drivers, what a runtime cannot do, the table."""
