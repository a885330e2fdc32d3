-- MERGE INTO whose new values name the table's own columns, which Apache Hudi takes of copy-on-write tables only.
-- only cow
CREATE TABLE t (id INT, name STRING, price DOUBLE, ts BIGINT, dt STRING) USING hudi PARTITIONED BY (dt) TBLPROPERTIES (type = '{type}', primaryKey = 'id', orderingFields = 'ts');
CREATE TABLE u (id INT, name STRING, price DOUBLE) USING hudi TBLPROPERTIES (type = '{type}', primaryKey = 'id');
CREATE TABLE s (id INT, name STRING, price DOUBLE, ts BIGINT, dt STRING, flag STRING) USING parquet;
INSERT INTO s VALUES (1, 's1', 101.0, 2000, '2021-01-05', 'update'), (2, 's2', 102.0, 2000, '2021-01-05', 'delete'), (6, 's6', 106.0, 2000, '2021-01-06', 'insert'), (7, 's7', 107.0, 2000, '2021-01-07', 'skip');
INSERT INTO t VALUES (1, 'a1', 10.0, 1000, '2021-01-05'), (2, 'a2', 20.0, 1000, '2021-01-05'), (3, 'a3', 30.0, 1000, '2021-01-06'), (6, 'a6', 60.0, 1000, '2021-01-06');
INSERT INTO u VALUES (1, 'a1', 10.0), (2, 'a2', 20.0);
MERGE INTO t USING (SELECT id, name, price, ts, dt FROM s) AS source ON t.id = source.id AND t.dt = source.dt WHEN MATCHED THEN UPDATE SET name = source.name, price = t.price + source.price, ts = source.ts WHEN NOT MATCHED THEN INSERT (id, name, price, ts, dt) VALUES (source.id, source.name, source.price, source.ts, source.dt);
MERGE INTO t USING (SELECT 3 AS id, initcap('new name') AS name, 33.0D AS price, 1010L AS ts, '2021-01-06' AS dt) s0 ON t.id = s0.id WHEN MATCHED THEN UPDATE SET id = s0.id, name = concat(t.name, '-', s0.name), ts = s0.ts;
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.flag = 'insert' THEN UPDATE SET price = t.price / 2, ts = t.ts + 1;
MERGE INTO u USING (SELECT id, name, price FROM t WHERE id < 7) s0 ON u.id = s0.id WHEN MATCHED THEN UPDATE SET u.price = s0.price + u.price WHEN NOT MATCHED THEN INSERT *;
MERGE INTO t USING (SELECT 6 AS id, 8000L AS ts, '2021-01-06' AS dt, 'x' AS name, 1.0D AS price) s0 ON t.id = s0.id AND t.dt = s0.dt WHEN MATCHED AND t.price < 1000 THEN UPDATE SET name = concat(t.name, s0.name), price = CASE WHEN t.price > s0.price THEN t.price ELSE s0.price END, ts = t.ts + s0.ts;
SELECT * FROM t ORDER BY id;
SELECT * FROM u ORDER BY id;
DROP TABLE t;
DROP TABLE u;
