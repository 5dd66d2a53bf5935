"""One file about a model for those who must question and sign it: its content as data, then HTML, JSON and Markdown.

A section is data (JSON values, of full precision) beside what of it is shown (blocks of text, tables and pictures).
Layouts know blocks and no models.
"""
