/**
 * The tables of the store in PostgreSQL, as versioned migrations: one is never changed once it was released, a later one is added. Names
 * are qualified: a pooler in transaction mode keeps no `search_path`.
 */
export interface Migration {
  /** Ascending from 1, without gaps. */
  version: number;
  /**
   * The oldest version of a program that may use tables of this version; default: this version. Kept in the tables, so that a program that is
   * older than its hosts' refuses before it writes; 8 was the last version of programs that do not look.
   */
  needs?: number;
  /** Statements for a schema whose name is quoted already. */
  statements(schema: string): string[];
}

/**
 * `sessions` has one row for each generation of a key. Its `epoch` rises with every holder; `lease_until` is by the database's clock.
 * `changed` is from one sequence for all rows, so that a host finds what others changed. `chunks` has the transcripts' bytes: `at` is a
 * chunk's offset, the next one begins at its end.
 */
const SESSIONS: Migration = {
  version: 1,
  statements: (schema) => [
    `create sequence ${schema}.changes`,
    `create table ${schema}.sessions (
       tenant text not null default current_user,
       agent text not null,
       session_id text not null,
       key text not null,
       generation bigint not null,
       is_current boolean not null,
       folder text,
       created_at timestamptz not null default now(),
       epoch bigint not null default 0,
       holder text,
       lease_until timestamptz,
       bytes bigint not null default 0,
       changed bigint not null default nextval('${schema}.changes'),
       primary key (tenant, agent, session_id),
       unique (tenant, agent, key, generation))`,
    `create unique index sessions_current on ${schema}.sessions (tenant, agent, key) where is_current`,
    `create index sessions_changed on ${schema}.sessions (tenant, agent, changed)`,
    `create table ${schema}.chunks (
       tenant text not null default current_user,
       agent text not null,
       session_id text not null,
       at bigint not null,
       epoch bigint not null,
       bytes bytea not null,
       primary key (tenant, agent, session_id, at))`,
  ],
};

/**
 * What several writers need. `precedence` orders the generations of a key, of which the greatest is current; null is the generation's number.
 * `holds` has the keys that live programs follow. `revision` counts how often a whole transcript was replaced, and `published` names the last time. `changed` becomes the id of the
 * transaction: a number from a sequence is missed by a host that looks while its transaction runs.
 */
const WRITERS: Migration = {
  version: 2,
  statements: (schema) => [
    `alter table ${schema}.sessions add column precedence bigint, add column revision bigint not null default 0,
       add column published text, add column holder_facts jsonb,
       alter column changed set default pg_current_xact_id()::text::bigint,
       drop constraint sessions_tenant_agent_key_generation_key`,
    // An append changes no column of an index, so it needs no new row in one.
    `drop index ${schema}.sessions_changed`,
    `alter table ${schema}.sessions set (fillfactor = 70)`,
    `create unique index sessions_generation on ${schema}.sessions (tenant, agent, key, generation)
       where generation > 0`,
    `update ${schema}.sessions set changed = default`,
    `drop sequence ${schema}.changes`,
    `create table ${schema}.holds (
       tenant text not null default current_user,
       agent text not null,
       key text not null,
       folder text,
       holder text not null,
       holder_facts jsonb not null,
       lease_until timestamptz not null,
       primary key (tenant, agent, key))`,
    `create table ${schema}.removed (
       tenant text not null default current_user,
       agent text not null,
       session_id text not null,
       changed bigint not null default pg_current_xact_id()::text::bigint,
       primary key (tenant, agent, session_id))`,
  ],
};

/**
 * What belongs to a session beside its transcript. `mirror` is the host's that has or had the session last, and `moved` the epoch of its first
 * lease in a row: what was noted under an earlier epoch is of before another host had it. A row of `spend` is what one source has spent in a
 * scope, and only grows.
 */
const RECORDS: Migration = {
  version: 3,
  statements: (schema) => [
    `alter table ${schema}.sessions add column receipt_bytes bigint not null default 0, add column mirror text,
       add column moved bigint not null default 0`,
    `create table ${schema}.receipts (
       tenant text not null default current_user,
       agent text not null,
       session_id text not null,
       at bigint not null,
       epoch bigint not null,
       bytes bytea not null,
       primary key (tenant, agent, session_id, at))`,
    `create table ${schema}.bindings (
       tenant text not null default current_user,
       agent text not null,
       session_id text not null,
       runtime text not null,
       native_id text not null,
       mirror text not null,
       host text not null,
       epoch bigint not null,
       primary key (tenant, agent, session_id, runtime))`,
    `create table ${schema}.spend (
       tenant text not null default current_user,
       agent text not null,
       scope text not null,
       source text not null,
       cost double precision not null,
       primary key (tenant, agent, scope, source))`,
  ],
};

/**
 * Tables of the inbox that several hosts share. `counters.events` numbers the events of a tenant: a transaction that takes numbers holds its
 * row until it ends, so that events become visible in their order. `work.host` runs the work until `claim_until`, by the database's clock;
 * `place` is a digest of agent and session, which a notification may carry.
 */
const WORK: Migration = {
  version: 4,
  statements: (schema) => [
    `create table ${schema}.counters (
       tenant text primary key default current_user,
       events bigint not null default 0)`,
    `alter table ${schema}.counters set (fillfactor = 10)`,
    `create table ${schema}.work (
       tenant text not null default current_user,
       id text not null,
       seq bigint not null,
       place text not null,
       agent text not null,
       session text not null,
       kind text not null,
       request text not null,
       policy text not null,
       origin text not null,
       token text not null,
       idempotency text,
       digest text not null,
       state text not null,
       into_work text,
       outcome text,
       error text,
       posted bigint not null,
       started bigint,
       ended bigint,
       host text,
       home text,
       claim_until timestamptz,
       stop_asked boolean not null default false,
       primary key (tenant, id))`,
    `create unique index work_idempotency on ${schema}.work (tenant, token, idempotency) where idempotency is not null`,
    `create index work_open on ${schema}.work (tenant, agent, session, seq) where state <> 'ended'`,
    `create index work_open_place on ${schema}.work (tenant, place) where state <> 'ended'`,
    `create index work_by_session on ${schema}.work (tenant, agent, session, seq)`,
    `create index work_by_age on ${schema}.work (tenant, ended) where state = 'ended'`,
    `create table ${schema}.events (
       tenant text not null default current_user,
       seq bigint not null,
       work text not null,
       agent text not null,
       session text not null,
       type text not null,
       data text not null,
       primary key (tenant, seq))`,
    `create index events_by_session on ${schema}.events (tenant, agent, session, seq)`,
    `create index events_by_work on ${schema}.events (tenant, work, seq)`,
    `create table ${schema}.approvals (
       tenant text not null default current_user,
       id text not null,
       work text not null,
       agent text not null,
       session text not null,
       call text,
       question text not null,
       answer text,
       answered_by text,
       asked bigint not null,
       answered bigint,
       primary key (tenant, id))`,
    `create index approvals_by_work on ${schema}.approvals (tenant, work)`,
  ],
};

/**
 * What servers keep beside their work. `tokens.hash` is of the secret, which is not stored. A host has a due job until `claim_until`, by the
 * database's clock.
 */
const SERVERS: Migration = {
  version: 5,
  statements: (schema) => [
    `create table ${schema}.tokens (
       tenant text not null default current_user,
       id text not null,
       hash text not null,
       name text not null,
       scope text not null,
       sessions text not null,
       created bigint not null,
       expires bigint,
       revoked bigint,
       used bigint,
       primary key (tenant, id),
       unique (tenant, hash))`,
    `create table ${schema}.jobs (
       tenant text not null default current_user,
       id text not null,
       agent text not null,
       session text not null,
       definition text not null,
       paused integer not null default 0,
       next bigint,
       manual bigint,
       stamp text,
       last bigint,
       outcome text,
       created bigint not null,
       claim_until timestamptz,
       primary key (tenant, id))`,
    `create index jobs_by_next on ${schema}.jobs (tenant, next) where paused = 0`,
    `create index jobs_manual on ${schema}.jobs (tenant, manual) where manual is not null`,
  ],
};

/** Models that failed at any host. Times are ms since the epoch, by the clock of the host that noted them. */
const COOLDOWNS: Migration = {
  version: 6,
  statements: (schema) => [
    `create table ${schema}.cooldowns (
       tenant text not null default current_user,
       target text not null,
       reason text not null,
       failures integer not null,
       failed_at bigint not null,
       until bigint not null,
       primary key (tenant, target))`,
  ],
};

/** All sessions of a key: the unique index has only those with a generation, and statements ask for the others too. */
const KEYS: Migration = {
  version: 7,
  statements: (schema) => [`create index sessions_key on ${schema}.sessions (tenant, agent, key)`],
};

/**
 * Which messages have which words. `passages.at` is the offset of a message's line, `written` its time in ms since the epoch. `indexed` has up to
 * where a transcript's words are in; what follows is added by the next search, or by the host that wrote it, once it released the session.
 */
const SEARCH: Migration = {
  version: 8,
  statements: (schema) => [
    `create table ${schema}.passages (
       tenant text not null default current_user,
       agent text not null,
       session_id text not null,
       at bigint not null,
       written bigint not null,
       words tsvector not null,
       primary key (tenant, agent, session_id, at))`,
    `create index passages_words on ${schema}.passages using gin (words)`,
    `create index passages_written on ${schema}.passages (tenant, agent, written)`,
    `create table ${schema}.indexed (
       tenant text not null default current_user,
       agent text not null,
       session_id text not null,
       bytes bigint not null default 0,
       revision bigint not null default 0,
       primary key (tenant, agent, session_id))`,
  ],
};

/** Which programs may use the tables: a null is the version itself. */
const NEEDS: Migration = {
  version: 9,
  needs: 8,
  statements: (schema) => [`alter table ${schema}.migrations add column if not exists needs integer`],
};

/**
 * JSON of what a token, and the poster of work, may do; null in rows of earlier versions. `parent` is the token that created one. Earlier
 * programs may not use the tables: they would ignore a token's limits.
 */
const AUTHORITY: Migration = {
  version: 10,
  statements: (schema) => [
    `alter table ${schema}.tokens add column if not exists limits text, add column if not exists parent text`,
    `alter table ${schema}.work add column if not exists authority text`,
  ],
};

export const MIGRATIONS: readonly Migration[] = [
  SESSIONS,
  WRITERS,
  RECORDS,
  WORK,
  SERVERS,
  COOLDOWNS,
  KEYS,
  SEARCH,
  NEEDS,
  AUTHORITY,
];

/** The version of the tables that this program reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.at(-1)?.version ?? 0;
