"""`report.html`."""
