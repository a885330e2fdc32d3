-- Rows and deletes of a log that meet out of order: older ones behind newer ones, ties, deletes that say so in a column.
-- reads: snapshot
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, ts bigint, note string, `_hoodie_is_deleted` boolean) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 5, 'base', false), ('b', 5, 'base', false), ('c', 5, 'base', false), ('d', 5, 'base', false), ('e', 5, 'base', false), ('f', 5, 'base', false), ('g', 5, 'base', false);
insert into ${table} values ('a', 7, 'first', false), ('b', 7, 'first', true), ('c', 4, 'first', true), ('d', 3, 'first', false), ('e', 8, 'first', true), ('f', 6, 'first', false), ('g', 6, 'first', false);
insert into ${table} values ('a', 6, 'second', false), ('b', 6, 'second', false), ('c', 3, 'second', false), ('d', 4, 'second', false), ('e', 9, 'second', false), ('f', 5, 'second', true), ('g', 6, 'second', false);
