"""Labels for blank nodes without one in their document: anon0, anon1 and so on, in order of appearance."""
