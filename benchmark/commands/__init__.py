"""One module per `fedbandit` command, discovered automatically."""
