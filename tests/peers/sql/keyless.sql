-- Tables without a key, whose keys are generated.
CREATE TABLE k (id INT, name STRING, price DOUBLE, city STRING) USING hudi PARTITIONED BY (city) TBLPROPERTIES (type = '{type}');
INSERT INTO k VALUES (1, 'a1', 10.0, 'oslo'), (2, 'a2', 20.0, 'lima'), (2, 'a2', 20.0, 'lima');
INSERT INTO k SELECT 3, 'a3', 30.0, 'oslo';
SELECT * FROM k ORDER BY id;
UPDATE k SET price = 11.0 WHERE id = 1;
UPDATE k SET price = price + 1, name = concat(name, '_', city) WHERE city = 'lima';
UPDATE k SET name = upper(name) WHERE price > (SELECT avg(price) FROM k);
DELETE FROM k WHERE id = 3;
DELETE FROM k WHERE id IN (SELECT id FROM k WHERE price > 1000);
SELECT id, name, price, city FROM k ORDER BY id;
MERGE INTO k USING (SELECT 1 AS id, 'm1' AS name, 100.0D AS price, 'oslo' AS city UNION ALL SELECT 4, 'm4', 400.0D, 'rome') s ON k.id = s.id WHEN MATCHED THEN UPDATE SET k.price = s.price WHEN NOT MATCHED THEN INSERT *;
-- differs in cow: generated keys
MERGE INTO k USING (SELECT 2 AS id, 'lima' AS city) s ON k.id = s.id AND k.city = s.city WHEN MATCHED THEN DELETE;
DELETE FROM k WHERE id = 2;
INSERT INTO k VALUES (2, 'lima again', 21.0, 'lima');
-- differs in mor: generated keys
MERGE INTO k USING (SELECT 'oslo' AS city, 7.0D AS more) s ON k.city = s.city WHEN MATCHED AND k.price > 50 THEN UPDATE SET price = s.more;
UPDATE k SET price = 7.0 WHERE city = 'oslo';
SELECT city, count(*) AS n, sum(price) AS total FROM k GROUP BY city ORDER BY city;
INSERT OVERWRITE k PARTITION (city = 'rome') SELECT 5, 'a5', 50.0;
ALTER TABLE k DROP PARTITION (city = 'oslo');
INSERT INTO k VALUES (6, NULL, NULL, 'oslo');
UPDATE k SET price = 1.0 WHERE price IS NULL;
SELECT count(*) AS n FROM k WHERE name IS NULL;
TRUNCATE TABLE k;
INSERT INTO k VALUES (7, 'a7', 7.0, 'oslo');
SELECT * FROM k;
DROP TABLE k;
