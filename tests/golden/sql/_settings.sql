-- Run before every script: a fresh session, small bloom filters, no metadata table unless the script asks for one.
reset;
set hoodie.embed.timeline.server = false;
set hoodie.metadata.enable = false;
set hoodie.index.bloom.num_entries = 20;
set hoodie.bloom.index.filter.dynamic.max.entries = 40;
