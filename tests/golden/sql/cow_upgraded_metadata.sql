-- Made by 0.15 at version 6 with a metadata table, then upgraded to version 9 and written on.
-- releases: 1.2.0
-- reads: snapshot
-- from: cow_metadata-v6
set hoodie.metadata.enable = true;
create table cow_metadata_v6 using hudi location '${path}';
call upgrade_table(table => 'cow_metadata_v6', to_version => 'NINE');
update cow_metadata_v6 set note = 'upgraded', ts = 20 where id = 'a';
