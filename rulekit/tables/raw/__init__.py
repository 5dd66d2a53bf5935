"""From bytes, arrays and frames to columns of cells as they came."""
