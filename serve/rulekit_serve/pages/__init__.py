"""Pages for people. They need no JavaScript, and hold no script and no style of their own."""
