"""Binned columns as small integer codes, and conditions on them as nodes."""
