"""The parts of the terminal program: flags, commands, and how things are printed."""
