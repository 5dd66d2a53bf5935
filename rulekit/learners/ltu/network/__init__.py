"""Networks of units that are wired as a tree, and trained as a whole (Sahami, "Madaline-Style Learning Algorithm")."""
