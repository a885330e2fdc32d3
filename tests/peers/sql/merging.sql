-- MERGE INTO with every clause that both have.
CREATE TABLE t (id INT, name STRING, price DOUBLE, ts BIGINT, dt STRING) USING hudi PARTITIONED BY (dt) TBLPROPERTIES (type = '{type}', primaryKey = 'id', preCombineField = 'ts');
CREATE TABLE s (id INT, name STRING, price DOUBLE, ts BIGINT, dt STRING, flag STRING) USING parquet;
INSERT INTO s VALUES (1, 's1', 101.0, 2000, '2021-01-05', 'update'), (2, 's2', 102.0, 2000, '2021-01-05', 'delete'), (6, 's6', 106.0, 2000, '2021-01-06', 'insert'), (7, 's7', 107.0, 2000, '2021-01-07', 'skip');
MERGE INTO t USING (SELECT 1 AS id, 'a1' AS name, 10.0D AS price, 1000L AS ts, '2021-01-05' AS dt) s0 ON t.id = s0.id WHEN NOT MATCHED THEN INSERT *;
INSERT INTO t VALUES (2, 'a2', 20.0, 1000, '2021-01-05'), (3, 'a3', 30.0, 1000, '2021-01-06'), (4, 'a4', 40.0, 1000, '2021-01-06');
MERGE INTO t USING (SELECT 1 AS id, 'a1_1' AS name, 11.0D AS price, 1001L AS ts, '2021-01-05' AS dt) s0 ON t.id = s0.id WHEN MATCHED THEN UPDATE SET *;
MERGE INTO t USING (SELECT id, name, price, ts, dt FROM s WHERE flag <> 'delete') AS source ON t.id = source.id AND t.dt = source.dt WHEN MATCHED THEN UPDATE SET name = source.name, price = source.price, ts = source.ts WHEN NOT MATCHED THEN INSERT (id, name, price, ts, dt) VALUES (source.id, source.name, source.price, source.ts, source.dt);
MERGE INTO t AS target USING s AS source ON target.id = source.id WHEN MATCHED AND source.flag = 'delete' THEN DELETE WHEN MATCHED AND source.flag = 'update' THEN UPDATE SET target.price = source.price * 2, target.ts = source.ts + 1;
MERGE INTO t USING (SELECT 3 AS id, 'x' AS name, 99.0D AS price, 1005L AS ts, '2021-01-06' AS dt) s0 ON t.id = s0.id WHEN MATCHED AND s0.price > 1000 THEN UPDATE SET * WHEN NOT MATCHED AND s0.price > 0 THEN INSERT *;
MERGE INTO t USING (SELECT 8 AS id, 'a8' AS name, 80.0D AS price, 1000L AS ts, '2021-01-08' AS dt UNION ALL SELECT 9, 'a9', 90.0D, 1000L, '2021-01-08') s0 ON t.id = s0.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED AND s0.id % 2 = 0 THEN INSERT *;
MERGE INTO t USING (SELECT 4 AS id, 'gone' AS name, 0.0D AS price, 1006L AS ts, '2021-01-06' AS dt) s0 ON s0.id = t.id WHEN MATCHED THEN DELETE;
-- differs: ordering
MERGE INTO t USING (SELECT 3 AS id, 'late' AS name, 0.0D AS price, 5L AS ts, '2021-01-06' AS dt) s0 ON t.id = s0.id WHEN MATCHED THEN UPDATE SET *;
UPDATE t SET name = 'three', price = 3.0, ts = 2000 WHERE id = 3;
SELECT * FROM t ORDER BY id;
-- differs: duplicate sources
MERGE INTO t USING (SELECT 20 AS id, 'twice' AS name, 1.0D AS price, 1L AS ts, '2021-01-09' AS dt UNION ALL SELECT 20, 'twice later', 2.0D, 2L, '2021-01-09') s0 ON t.id = s0.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
DELETE FROM t WHERE id = 20;
MERGE INTO t USING (SELECT 30 AS id, 'only' AS name, 5.0D AS price, 10L AS ts, '2021-01-09' AS dt) s0 ON t.id = s0.id WHEN NOT MATCHED THEN INSERT (id, name, ts, dt) VALUES (s0.id, upper(s0.name), s0.ts, s0.dt);
-- differs: merge sources
MERGE INTO t USING (SELECT 30 AS key, 12.5D AS cost, 11L AS moment) s0 ON t.id = s0.key WHEN MATCHED THEN UPDATE SET price = s0.cost, ts = s0.moment;
-- differs: merge sources
MERGE INTO t USING (SELECT 30 AS key, 13.5D AS cost, 12L AS ts) s0 ON t.id = s0.key WHEN MATCHED THEN UPDATE SET t.price = s0.cost, t.ts = s0.ts;
UPDATE t SET price = 1.0, ts = 50 WHERE id = 30;
MERGE INTO t USING (WITH w AS (SELECT 31 AS id) SELECT id, 'cte' AS name, 1.0D AS price, 1L AS ts, '2021-01-09' AS dt FROM w) s0 ON t.id = s0.id WHEN NOT MATCHED THEN INSERT *;
MERGE INTO t USING (SELECT 1 AS id, CAST(NULL AS STRING) AS name, CAST(NULL AS DOUBLE) AS price, 3000L AS ts, '2021-01-05' AS dt) s0 ON t.id = s0.id WHEN MATCHED THEN UPDATE SET *;
-- differs: merge sources
MERGE INTO t USING (SELECT 6 AS id, 'nothing' AS name) s0 ON t.id = s0.id WHEN MATCHED AND t.price < 0 THEN DELETE;
-- differs in mor: merge conditions
MERGE INTO t USING (SELECT 6 AS id, 'six' AS name, 1.0D AS price, 5000L AS ts, '2021-01-06' AS dt) s0 ON t.id = s0.id WHEN MATCHED AND t.ts < s0.ts AND t.price > 1 THEN UPDATE SET t.name = s0.name, t.ts = s0.ts WHEN MATCHED THEN DELETE;
UPDATE t SET name = 'six', ts = 5000 WHERE id = 6;
MERGE INTO t USING (SELECT 99 AS id) s0 ON t.id = s0.nosuch WHEN MATCHED THEN DELETE;
SELECT id, name, price, ts, dt FROM t ORDER BY id;
SELECT count(*) AS n, count(DISTINCT dt) AS days FROM t;
CREATE TABLE u (id INT, name STRING, price DOUBLE) USING hudi TBLPROPERTIES (type = '{type}', primaryKey = 'id');
INSERT INTO u VALUES (1, 'a1', 10.0), (2, 'a2', 20.0);
MERGE INTO u USING (SELECT 1 AS id, 'b1' AS name, 11.0D AS price) s0 ON u.id = s0.id WHEN MATCHED THEN UPDATE SET *;
MERGE INTO u USING (SELECT 2 AS id, 'b2' AS name) s0 ON u.id = s0.id WHEN MATCHED THEN UPDATE SET name = s0.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s0.id, s0.name);
MERGE INTO u USING (SELECT 3 AS id, 'b3' AS name) s0 ON u.id = s0.id WHEN MATCHED THEN UPDATE SET name = s0.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s0.id, s0.name);
SELECT * FROM u ORDER BY id;
DROP TABLE u;
DROP TABLE t;
