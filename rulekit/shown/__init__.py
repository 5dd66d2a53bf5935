"""What a model says: its rules, figures and score card in lines and tables."""
