"""Work that takes longer than a call, in processes of its own."""
