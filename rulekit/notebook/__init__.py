"""What a notebook shows of estimators, models, sizes and reports: HTML, frames and pictures."""
