-- SPDX-License-Identifier: Apache-2.0
--
-- Keys with values, and an ordered log of their changes. Write to mirror.keys with plain SQL: triggers do the rest.
--
--     psql -d DATABASE -f schema.sql
--     INSERT INTO mirror.keys (key, value) VALUES ('/flags/dark-mode', 'true')
--         ON CONFLICT (key) DO UPDATE SET value = excluded.value;

CREATE SCHEMA mirror;

-- One row. A transaction that changes keys adds 1 to the position, and keeps the row locked until its commit: the order
-- of positions is the order of commits, and no position is left out.
CREATE TABLE mirror.state (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- From 1 on: a mirror takes 0 for no position.
    position bigint NOT NULL DEFAULT 1,
    -- The log has all changes after this position.
    trimmed bigint NOT NULL DEFAULT 1,
    -- The transaction that has the position.
    writer xid8,
    -- A number of these data.
    history bigint NOT NULL DEFAULT ('x' || md5(random()::text || clock_timestamp()))::bit(64)::bigint
);
INSERT INTO mirror.state DEFAULT VALUES;

CREATE TABLE mirror.keys (
    key text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL,
    -- Of the transaction that has set the value, and of the one that has created the key.
    position bigint NOT NULL,
    created bigint NOT NULL,
    -- How often the key was set since.
    version bigint NOT NULL
);
CREATE INDEX ON mirror.keys (position);

-- What each transaction has left of a key, and what it has found. No value: there was no such key.
CREATE TABLE mirror.log (
    position bigint,
    key text COLLATE "C",
    value bytea,
    created bigint,
    version bigint,
    old_value bytea,
    old_position bigint,
    old_created bigint,
    old_version bigint,
    PRIMARY KEY (position, key)
);

-- The history is another after a restore to an earlier time: that begins a timeline. Fails on a standby, which may be
-- behind.
CREATE VIEW mirror.moment AS
SELECT
    position,
    trimmed,
    history # ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint AS history
FROM mirror.state;

-- Before each statement, so that the row of the state is locked before any key's: no two writers wait for each other.
CREATE FUNCTION mirror.begin_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE mirror.state SET
        position = position + CASE WHEN writer = pg_current_xact_id() THEN 0 ELSE 1 END,
        writer = pg_current_xact_id();
    PERFORM pg_notify('mirror', '');
    RETURN NULL;
END $$;

CREATE FUNCTION mirror.number_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.position := (SELECT position FROM mirror.state);
    IF TG_OP = 'INSERT' THEN
        NEW.created := NEW.position;
        NEW.version := 1;
    ELSE
        IF NEW.key <> OLD.key THEN RAISE EXCEPTION 'a key is not renamed: delete it, and insert another'; END IF;
        NEW.created := OLD.created;
        NEW.version := OLD.version + 1;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION mirror.log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO mirror.log AS log SELECT
            state.position, OLD.key, NULL, NULL, NULL, OLD.value, OLD.position, OLD.created, OLD.version
        FROM mirror.state
        ON CONFLICT ON CONSTRAINT log_pkey DO UPDATE SET value = NULL, created = NULL, version = NULL;
    ELSE
        -- OLD is null for a key that is new.
        INSERT INTO mirror.log AS log VALUES (
            NEW.position, NEW.key, NEW.value, NEW.created, NEW.version,
            OLD.value, OLD.position, OLD.created, OLD.version
        )
        ON CONFLICT ON CONSTRAINT log_pkey DO UPDATE SET
            value = excluded.value, created = excluded.created, version = excluded.version;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION mirror.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'mirror.keys is not truncated: delete its rows';
END $$;

CREATE TRIGGER begin_change BEFORE INSERT OR UPDATE OR DELETE ON mirror.keys
    FOR EACH STATEMENT EXECUTE FUNCTION mirror.begin_change();
CREATE TRIGGER number_key BEFORE INSERT OR UPDATE ON mirror.keys FOR EACH ROW EXECUTE FUNCTION mirror.number_key();
CREATE TRIGGER log_change AFTER INSERT OR UPDATE OR DELETE ON mirror.keys
    FOR EACH ROW EXECUTE FUNCTION mirror.log_change();
CREATE TRIGGER refuse BEFORE TRUNCATE ON mirror.keys FOR EACH STATEMENT EXECUTE FUNCTION mirror.refuse();

-- Forgets all but the last changes of the log. A mirror that has missed one of those lists. Call it from time to time.
CREATE FUNCTION mirror.trim(kept bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE mirror.state SET trimmed = greatest(trimmed, position - kept);
    DELETE FROM mirror.log USING mirror.state WHERE log.position <= state.trimmed;
$$;
