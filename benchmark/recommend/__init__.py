"""Answers for given data: methods compared on one stream, and a recommendation within a communication budget."""
