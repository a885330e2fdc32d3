"""The metadata table: a table below `.hoodie/metadata` that says what files a table has, and what is in them."""
