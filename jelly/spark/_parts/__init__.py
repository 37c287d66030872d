"""The parts of files that tasks read, and the columns that the directories of files add."""
