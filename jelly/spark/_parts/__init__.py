"""What tasks read: parts of text files, and what the directories of files say."""
