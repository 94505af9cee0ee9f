"""One file a command of `fedbandit`; adding a file adds the command."""
