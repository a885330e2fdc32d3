-- Schema-on-read: columns added, renamed, widened, moved and dropped, each between commits.
-- reads: snapshot as_of
set hoodie.schema.on.read.enable = true;
set hoodie.datasource.write.schema.allow.auto.evolution.column.drop = true;
create table ${table} (id string, ts bigint, note string, n int, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'x', 1, 'sf'), ('b', 1, 'y', 2, 'rio');
alter table ${table} add columns (extra string after note);
insert into ${table} (id, ts, note, extra, n, city) values ('c', 1, 'z', 'e', 3, 'sf');
alter table ${table} rename column note to remark;
alter table ${table} alter column n type bigint;
set hoodie.spark.sql.insert.into.operation = upsert;
insert into ${table} (id, ts, remark, extra, n, city) values ('c', 2, 'renamed', 'e', 5000000000, 'sf');
alter table ${table} drop column extra;
insert into ${table} (id, ts, remark, n, city) values ('d', 1, 'w', 4, 'rio');
