-- Every type, extremes and nulls.
-- releases: 1.2.0
create table ${table} (id string, ts bigint, flag boolean, i8 tinyint, i16 smallint, i32 int, i64 bigint, f32 float, f64 double,
  dec5 decimal(5, 2), dec18 decimal(18, 0), dec38 decimal(38, 10), day date, at timestamp, at_local timestamp_ntz, text string, data binary,
  list array<int>, lists array<array<string>>, labels map<string, int>,
  place struct<lat: double, name: string, parts: array<struct<n: int, m: string>>>) using hudi
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} select 'full', 1, true, cast(-128 as tinyint), cast(32767 as smallint), -2147483648, 9223372036854775807,
  cast('NaN' as float), -0.0D, 999.99, 123456789012345678, 1234567890123456789012345678.0123456789, date '1600-02-29',
  timestamp '2024-02-29 12:34:56.123456', timestamp_ntz '1969-12-31 23:59:59.999999', 'ünï', X'00FF', array(1, 3),
  array(array('a', 'b'), array('c')), map('k', 1, 'ключ', null), named_struct('lat', double('infinity'), 'name', 'n', 'parts', array(named_struct('n', 1, 'm', 'x')));
insert into ${table} select 'nulls', 1, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
  null, null, null, null;
update ${table} set dec5 = -0.01, text = '' where id = 'full';
