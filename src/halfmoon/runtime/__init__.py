"""How work is run: tasks on threads that end with their call, progress, whole files, compilation."""
