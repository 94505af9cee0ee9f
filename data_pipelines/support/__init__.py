"""Files, messages, progress and secrets: used by all packages of the project, imports none of them."""
