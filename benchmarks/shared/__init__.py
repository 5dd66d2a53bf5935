"""What the benchmarks share: processes of their own, results that are kept, sections of pages, pictures."""
