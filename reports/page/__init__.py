"""`report.html`, `board.html` and the page of a recommendation."""
