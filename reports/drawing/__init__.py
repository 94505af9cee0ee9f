"""Parts that figures share."""
