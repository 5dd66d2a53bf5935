"""What is learned: accuracy, size and sparsity beside other learners, and the tables of the papers."""
