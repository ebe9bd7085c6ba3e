"""Checks for the course's exercises: each recognises the known mistakes and names them. One module a chapter."""
