"""What a task does with the rows of its buckets. It runs on workers: it knows files and rows, and no timeline."""
