/** The tables of the store in PostgreSQL. Names are qualified: a pooler in transaction mode keeps no `search_path`. */

/** The version of the tables that this program reads and writes; increased with every change of them. */
export const SCHEMA_VERSION = 11;

type Statements = (schema: string) => string[];

/** `needs`: the oldest version of a program that may use the tables, so that an older one refuses before it writes; null is `version`. */
const VERSIONS: Statements = (schema) => [
  `create table ${schema}.migrations (
       version integer primary key, applied_at timestamptz not null default now(), needs integer)`,
];

/**
 * `sessions` has one row for each generation of a key. Its `epoch` rises with every holder; `lease_until` is by the database's clock.
 * `precedence` orders the generations of a key, of which the greatest is current; null is the generation's number. `changed` is the id of the
 * transaction, so that a host finds the changes of others: a number from a sequence is missed by a host that looks while its transaction runs.
 * `revision` counts how often a whole transcript was replaced, and `published` names the last time. `mirror` is the host's that has or had the
 * session last, and `moved` the epoch of its first lease in a row: notes of an earlier epoch precede another host's lease. An append changes
 * no column of an index, so it needs no new row in one. `chunks` has the transcripts' bytes: `at` is a chunk's offset, the next one begins at
 * its end. `holds` has the keys that live programs follow.
 */
const SESSIONS: Statements = (schema) => [
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
       changed bigint not null default pg_current_xact_id()::text::bigint,
       precedence bigint,
       revision bigint not null default 0,
       published text,
       holder_facts jsonb,
       receipt_bytes bigint not null default 0,
       mirror text,
       moved bigint not null default 0,
       primary key (tenant, agent, session_id)) with (fillfactor = 70)`,
  `create unique index sessions_current on ${schema}.sessions (tenant, agent, key) where is_current`,
  `create unique index sessions_generation on ${schema}.sessions (tenant, agent, key, generation)
       where generation > 0`,
  `create index sessions_key on ${schema}.sessions (tenant, agent, key)`,
  `create table ${schema}.chunks (
       tenant text not null default current_user,
       agent text not null,
       session_id text not null,
       at bigint not null,
       epoch bigint not null,
       bytes bytea not null,
       primary key (tenant, agent, session_id, at))`,
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
];

/** A row of `spend` is the cost of one source in a scope, and only grows. */
const RECORDS: Statements = (schema) => [
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
];

/**
 * Tables of the inbox that several hosts share. `counters.events` numbers the events of a tenant: a transaction that takes numbers holds its
 * row until it ends, so that events become visible in their order. `work.host` runs the work until `claim_until`, by the database's clock;
 * `place` is a digest of agent and session, which a notification may carry. `authority` is JSON of what its poster may do, `images` JSON of
 * its images, which lists do not read.
 */
const WORK: Statements = (schema) => [
  `create table ${schema}.counters (
       tenant text primary key default current_user,
       events bigint not null default 0) with (fillfactor = 10)`,
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
       authority text not null,
       images text,
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
];

/**
 * Tables of servers beside their work. `tokens.hash` is of the secret, which is not stored; `limits` is JSON of what the token may do, `parent`
 * the token that created it. A host has a due job until `claim_until`, by the database's clock.
 */
const SERVER_TABLES: Statements = (schema) => [
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
       limits text not null,
       parent text,
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
];

/** Models that failed at any host. Times are ms since the epoch, by the clock of the host that noted them. */
const COOLDOWNS: Statements = (schema) => [
  `create table ${schema}.cooldowns (
       tenant text not null default current_user,
       target text not null,
       reason text not null,
       failures integer not null,
       failed_at bigint not null,
       until bigint not null,
       primary key (tenant, target))`,
];

/**
 * Which messages have which words. `passages.at` is the offset of a message's line, `written` its time in ms since the epoch. `indexed` has up to
 * where a transcript's words are in; what follows is added by the next search, or by the host that wrote it, once it released the session.
 */
const SEARCH: Statements = (schema) => [
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
];

/** Statements that create the tables in a schema whose name is quoted already. */
export function creating(schema: string): string[] {
  return [VERSIONS, SESSIONS, RECORDS, WORK, SERVER_TABLES, COOLDOWNS, SEARCH].flatMap((statements) =>
    statements(schema),
  );
}
