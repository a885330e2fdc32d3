"""What a row looks like: Avro and Arrow types, meta fields, evolution. Pure."""
