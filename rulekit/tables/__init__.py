"""Tables: typed columns with missing values, their readers and the inference of kinds."""
