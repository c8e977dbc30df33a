"""What the models of all sections share: the base model, constrained types, files and errors.

Put here what no section owns: a type that two sections use, a way to read a file, an error that names one.
"""
