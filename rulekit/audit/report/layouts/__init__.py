"""The layouts of a report: HTML, JSON, Markdown."""
