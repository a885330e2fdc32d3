-- A table that was created and never written.
-- reads: snapshot
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
