// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The table, and the functions that alone change it. docs/integrators/postgresql-protocol.md explains them.
#include "backend.hpp"
#include "protocol.hpp"

#include <boost/algorithm/string/replace.hpp>

namespace tenure::postgresql
{

namespace
{

constexpr std::string_view statement = R"sql(DO $install$ BEGIN
-- two installations at once: CREATE SCHEMA IF NOT EXISTS is not atomic
PERFORM pg_advisory_xact_lock(7303014, 0);
EXECUTE 'CREATE SCHEMA IF NOT EXISTS ' || rtrim('tenure.', '.');
CREATE TABLE IF NOT EXISTS tenure.lease (
    key    text COLLATE "C" PRIMARY KEY,
    pool   text COLLATE "C",               -- with number: how a pool finds its rows; null until a pool has used the row
    number int,
    owner  text COLLATE "C" NOT NULL,      -- '': free
    token  bigint NOT NULL,
    since  timestamptz NOT NULL,           -- last claim or release
    until  timestamptz NOT NULL            -- '-infinity': free; 'infinity': never frees. In no index: renewals stay HOT
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
-- not unique: then a change of the two is no change of a key, and an open guard does not delay it
CREATE INDEX IF NOT EXISTS lease_pool ON tenure.lease (pool, number);
CREATE TABLE IF NOT EXISTS tenure.waiting (range text COLLATE "C" PRIMARY KEY, until timestamptz NOT NULL)
    WITH (fillfactor = 50);

CREATE OR REPLACE FUNCTION tenure.version() RETURNS int[] LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY[1, 1] $$;

CREATE OR REPLACE FUNCTION tenure.ms_until(t timestamptz, n timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN t = 'infinity' THEN -1 ELSE ceil(extract(epoch FROM t - n) * 1000)::bigint END $$;

-- The first use of a key by a lock or pool; the token, or null. It never waits for another insert of the key.
CREATE OR REPLACE FUNCTION tenure.make(p_key text, p_pool text, p_number int, p_owner text, p_until timestamptz,
    p_now timestamptz, p_token bigint) RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_token bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(7303014, hashtext(p_key)) THEN RETURN NULL; END IF;
    INSERT INTO tenure.lease VALUES (p_key, p_pool, p_number, p_owner, p_token, p_now, p_until)
        ON CONFLICT (key) DO NOTHING;
    IF FOUND THEN RETURN p_token; END IF;
    IF p_pool IS NULL THEN RETURN NULL; END IF;
    -- the row of a lock, or of a slot of a pool with another prefix
    UPDATE tenure.lease l SET pool = p_pool, number = p_number, owner = p_owner, until = p_until, since = p_now,
           token = greatest(l.token + 1, p_token)
     WHERE l.key = (SELECT k.key FROM tenure.lease k WHERE k.key = p_key AND k.until <= p_now FOR UPDATE SKIP LOCKED)
    RETURNING l.token INTO v_token;
    IF NOT FOUND THEN
        UPDATE tenure.lease l SET pool = p_pool, number = p_number
         WHERE l.key = (SELECT k.key FROM tenure.lease k WHERE k.key = p_key AND k.pool IS NULL
                        FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    RETURN v_token;
END $$;

-- G index token: granted. B: busy, for earliest ms; -1: none ever frees; null: one is locked, or has just been freed
CREATE OR REPLACE FUNCTION tenure.claim(p_prefix text, p_first int, p_count int, p_numbered bool, p_owner text,
    p_life bigint, p_again bool, OUT code text, OUT index int, OUT token bigint, OUT earliest bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_until timestamptz := v_now + p_life * interval '1 millisecond';
    v_last int := p_first + p_count - 1;
    v_micros bigint := extract(epoch FROM v_now) * 1000000;
    v_key text; v_free int; v_rows int; v_min timestamptz; v_gap int; v_to int; v_first timestamptz;
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
    IF NOT p_numbered THEN
        -- FOR UPDATE is what an open guard (FOR KEY SHARE) excludes; the lock of a plain UPDATE is not
        UPDATE tenure.lease l SET owner = p_owner, until = v_until, since = v_now, token = greatest(l.token + 1, v_micros)
         WHERE l.key = (SELECT k.key FROM tenure.lease k WHERE k.key = p_prefix AND k.until <= v_now
                        FOR UPDATE SKIP LOCKED)
        RETURNING l.token INTO token;
        IF FOUND THEN code := 'G'; index := 0; RETURN; END IF;
        SELECT l.owner = p_owner AND p_again AND l.until > v_now, l.until INTO p_again, v_min
          FROM tenure.lease l WHERE l.key = p_prefix;
        IF NOT FOUND THEN
            token := tenure.make(p_prefix, NULL, NULL, p_owner, v_until, v_now, v_micros);
            code := CASE WHEN token IS NULL THEN 'B' ELSE 'G' END; index := 0;
            RETURN;
        END IF;
        v_key := p_prefix; v_free := p_first;
    ELSE
        IF p_again THEN
            SELECT l.number, l.key INTO v_free, v_key FROM tenure.lease l WHERE l.pool = p_prefix
               AND l.number BETWEEN p_first AND v_last AND l.owner = p_owner AND l.until > v_now LIMIT 1;
            p_again := FOUND;
        END IF;
        -- in steps, so that little of a pool with few holders is read
        FOR v_from IN p_first .. CASE WHEN p_again THEN p_first - 1 ELSE v_last END BY 256 LOOP
            v_to := v_from + least(255, v_last - v_from);
            SELECT count(*), min(l.until) INTO v_rows, v_first
              FROM tenure.lease l WHERE l.pool = p_prefix AND l.number BETWEEN v_from AND v_to;
            IF v_first <= v_now THEN
                SELECT l.number, l.key INTO v_free, v_key FROM tenure.lease l WHERE l.pool = p_prefix AND l.until <= v_now
                   AND l.number BETWEEN v_from AND v_to ORDER BY l.number LIMIT 1 FOR UPDATE SKIP LOCKED;
            ELSE
                v_min := least(v_min, v_first);
            END IF;
            -- unused keys before it, which have no row yet
            IF v_rows <= v_to - v_from THEN
                FOR v_gap IN SELECT n FROM generate_series(v_from, coalesce(v_free - 1, v_to)) n
                    WHERE NOT EXISTS (SELECT FROM tenure.lease l WHERE l.pool = p_prefix AND l.number = n)
                    ORDER BY n LIMIT 64 LOOP
                    token := tenure.make(p_prefix || v_gap, p_prefix, v_gap, p_owner, v_until, v_now, v_micros);
                    IF token IS NOT NULL THEN code := 'G'; index := v_gap - p_first; RETURN; END IF;
                END LOOP;
            END IF;
            EXIT WHEN v_free IS NOT NULL;
        END LOOP;
    END IF;
    IF NOT p_again AND (v_free IS NULL OR NOT p_numbered) THEN
        code := 'B';
        IF v_min > v_now THEN earliest := tenure.ms_until(v_min, v_now); END IF;
        RETURN;
    END IF;
    IF p_again THEN
        -- always written: an answer from reading alone would rest on a row that no standby may have
        UPDATE tenure.lease l SET until = v_until
         WHERE l.key = (SELECT k.key FROM tenure.lease k WHERE k.key = v_key AND k.owner = p_owner AND k.until > v_now
                        FOR NO KEY UPDATE SKIP LOCKED) RETURNING l.token INTO token;
        IF NOT FOUND THEN code := 'B'; RETURN; END IF;
    ELSE
        UPDATE tenure.lease l SET owner = p_owner, until = v_until, since = v_now, token = greatest(l.token + 1, v_micros)
         WHERE l.key = v_key RETURNING l.token INTO token;
    END IF;
    code := 'G'; index := CASE WHEN p_numbered THEN v_free - p_first ELSE 0 END;
END $$;

-- For each claim: 1 renewed, 0 not the owner, -1 locked
CREATE OR REPLACE FUNCTION tenure.renew(p_keys text[], p_owners text[], p_lives bigint[]) RETURNS int[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_now timestamptz := clock_timestamp(); v_codes int[];
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
    WITH due AS (SELECT * FROM unnest(p_keys, p_owners, p_lives) WITH ORDINALITY AS d (key, owner, life, place)),
    live AS (SELECT l.key, d.life FROM due d JOIN tenure.lease l ON l.key = d.key COLLATE "C" AND l.owner = d.owner
              WHERE l.until > v_now AND l.until < 'infinity' FOR NO KEY UPDATE OF l SKIP LOCKED),
    renewed AS (UPDATE tenure.lease l SET until = v_now + live.life * interval '1 millisecond'
                  FROM live WHERE l.key = live.key RETURNING l.key, l.owner)
    SELECT coalesce(array_agg(CASE WHEN r.key IS NOT NULL THEN 1 WHEN EXISTS (SELECT FROM tenure.lease l WHERE l.key = d.key
               AND l.owner = d.owner AND l.until > v_now AND l.until < 'infinity') THEN -1 ELSE 0 END ORDER BY d.place), '{}')
      INTO v_codes FROM due d LEFT JOIN renewed r ON r.key = d.key AND r.owner = d.owner;
    RETURN v_codes;
END $$;

-- p_keep null: frees the key, or lets it rest for p_rest ms; 0: keeps it for its remaining time, else for p_keep ms.
-- 1 done, 0 not the owner, -1 locked
CREATE OR REPLACE FUNCTION tenure.release(p_key text, p_owner text, p_rest bigint, p_keep bigint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_now timestamptz := clock_timestamp(); v_owner text;
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
    UPDATE tenure.lease l SET since = v_now,
        owner = CASE WHEN p_keep IS NOT NULL THEN 'kept/' || p_owner WHEN p_rest > 0 THEN 'resting/' || p_owner ELSE '' END,
        until = CASE WHEN p_keep > 0 THEN v_now + p_keep * interval '1 millisecond' WHEN p_keep = 0 THEN l.until
                     WHEN p_rest > 0 THEN v_now + p_rest * interval '1 millisecond' ELSE '-infinity' END
     WHERE l.key = (SELECT k.key FROM tenure.lease k WHERE k.key = p_key AND k.owner = p_owner AND k.until > v_now
                    FOR NO KEY UPDATE SKIP LOCKED);
    IF FOUND THEN RETURN 1; END IF;
    SELECT l.owner INTO v_owner FROM tenure.lease l WHERE l.key = p_key AND l.until > v_now;
    RETURN CASE WHEN v_owner = p_owner THEN -1 WHEN p_keep IS NOT NULL AND v_owner = 'kept/' || p_owner THEN 1 ELSE 0 END;
END $$;

-- Releases all that bears the owner; the number of keys that were locked, and so remain
CREATE OR REPLACE FUNCTION tenure.withdraw(p_prefix text, p_first int, p_count int, p_numbered bool, p_owner text,
    p_rest bigint) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_key text; v_locked int := 0;
BEGIN
    FOR v_key IN SELECT l.key FROM tenure.lease l WHERE l.owner = p_owner AND l.until > clock_timestamp() AND
        CASE WHEN p_numbered THEN l.pool = p_prefix AND l.number BETWEEN p_first AND p_first + p_count - 1
             ELSE l.key = p_prefix END LOOP
        v_locked := v_locked + (tenure.release(v_key, p_owner, p_rest, NULL) = -1)::int;
    END LOOP;
    RETURN v_locked;
END $$;

-- The remaining ms; null: not the owner, -1: it never expires, -2: locked. Neither until nor the token changes.
CREATE OR REPLACE FUNCTION tenure.evict(p_key text, p_owner text, p_by text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_now timestamptz := clock_timestamp(); v_until timestamptz;
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
    UPDATE tenure.lease l SET owner = 'evicted/' || p_by
     WHERE l.key = (SELECT k.key FROM tenure.lease k WHERE k.key = p_key AND k.owner = p_owner AND k.until > v_now
                       AND k.until < 'infinity' FOR NO KEY UPDATE SKIP LOCKED) RETURNING l.until INTO v_until;
    IF FOUND THEN RETURN tenure.ms_until(v_until, v_now); END IF;
    SELECT l.until INTO v_until FROM tenure.lease l WHERE l.key = p_key AND l.owner = p_owner AND l.until > v_now;
    RETURN CASE WHEN v_until = 'infinity' THEN -1 WHEN FOUND THEN -2 END;
END $$;

-- ms: -1 never expires, 0 free
CREATE OR REPLACE FUNCTION tenure.look(p_prefix text, p_first int, p_count int, p_numbered bool)
RETURNS TABLE (number int, owner text, token bigint, ms bigint, held_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT n, l.owner, l.token, CASE WHEN l.until > clock_timestamp() THEN tenure.ms_until(l.until, clock_timestamp()) ELSE 0 END,
           greatest(0, extract(epoch FROM clock_timestamp() - l.since) * 1000)::bigint
      FROM generate_series(p_first, p_first + p_count - 1) n
      JOIN tenure.lease l ON l.key = CASE WHEN p_numbered THEN p_prefix || n ELSE p_prefix END $$;

-- Keys from p_prefix on, after p_after, in their order; the caller stops at the first without the prefix
CREATE OR REPLACE FUNCTION tenure.list(p_prefix text, p_after text, p_most int) RETURNS TABLE (key text, taken bool)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT l.key, l.until > clock_timestamp() FROM tenure.lease l
     WHERE l.key >= p_prefix COLLATE "C" AND l.key > p_after COLLATE "C" ORDER BY l.key LIMIT p_most $$;

-- Marks ranges as waited for, in a transaction of its own. A mark that lasts long enough is not touched.
CREATE OR REPLACE FUNCTION tenure.wait(p_ranges text[], p_ms bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('lock_timeout', '200ms', true);
    INSERT INTO tenure.waiting AS w SELECT r, clock_timestamp() + p_ms * interval '1 millisecond' FROM unnest(p_ranges) r
     WHERE NOT EXISTS (SELECT FROM tenure.waiting v WHERE v.range = r AND
                       v.until > clock_timestamp() + p_ms * interval '1 millisecond' * 2 / 3) ORDER BY r
        ON CONFLICT (range) DO UPDATE SET until = greatest(w.until, excluded.until);
END $$;

-- Listens for releases in the ranges, and returns the channels
CREATE OR REPLACE FUNCTION tenure.listen(p_ranges text[]) RETURNS text[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_channel text; v_channels text[] := '{}';
BEGIN
    FOR i IN 1 .. cardinality(p_ranges) LOOP
        v_channel := 'tenure_' || substr(md5(p_ranges[i]), 1, 16);
        EXECUTE 'LISTEN ' || v_channel;
        v_channels := v_channels || v_channel;
    END LOOP;
    RETURN v_channels;
END $$;

-- NOTIFY locks the whole server until its transaction has ended: so it runs in one of its own after the release, which
-- waits for no flush, and only for ranges with waiters. Before PostgreSQL 18 a function of SQL is planned at each call.
CREATE OR REPLACE FUNCTION tenure.announce(p_ranges text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('tenure_' || substr(md5(w.range), 1, 16), '') FROM tenure.waiting w
      WHERE w.range = ANY (p_ranges) AND w.until > clock_timestamp();
    IF FOUND THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
END $$;

-- Deletes up to 1,000 rows that have not been used for a week
CREATE OR REPLACE FUNCTION tenure.sweep() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM tenure.lease WHERE key IN (SELECT key FROM tenure.lease WHERE until <= clock_timestamp()
        AND since < clock_timestamp() - interval '7 days' LIMIT 1000 FOR UPDATE SKIP LOCKED);
    DELETE FROM tenure.waiting WHERE range IN (SELECT range FROM tenure.waiting
        WHERE until < clock_timestamp() - interval '1 day' LIMIT 1000 FOR UPDATE SKIP LOCKED) $$;

-- For your own transactions: passes only under the lease, and no other claim is granted before the commit
CREATE OR REPLACE FUNCTION tenure.guard(p_key text, p_token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM 1 FROM tenure.lease WHERE key = p_key AND token = p_token AND until > clock_timestamp() AND owner <> ''
        AND owner NOT LIKE 'evicted/%' AND owner NOT LIKE 'resting/%' AND owner NOT LIKE 'kept/%' FOR KEY SHARE NOWAIT;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'tenure: the lease of % with token % is over', p_key, p_token USING ERRCODE = 'TN001';
    END IF;
END $$;

-- workers get all but tenure.evict
EXECUTE 'REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ' || rtrim('tenure.', '.') || ' FROM PUBLIC';
END $install$)sql";

} // namespace

std::string in_schema(std::string_view sql, std::string_view schema)
{
    return boost::replace_all_copy(std::string(sql), "tenure.", std::string(schema) + ".");
}

std::string install_statement(std::string_view schema, std::vector<std::string> const& roles)
{
    auto text = in_schema(statement, schema);
    auto const in = " SCHEMA " + std::string(schema);
    std::string grants;
    for (auto const& role : roles)
        grants += "GRANT USAGE ON" + in + " TO \"" + role + "\"; GRANT EXECUTE ON ALL FUNCTIONS IN" + in + " TO \"" +
                  role + "\"; REVOKE EXECUTE ON FUNCTION " + std::string(schema) + ".evict FROM \"" + role + "\";\n";
    return text.insert(text.rfind("END $install$"), grants);
}

} // namespace tenure::postgresql
