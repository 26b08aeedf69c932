/**
 * The tables of the store in PostgreSQL, as versioned migrations: one is never changed once it was released, a later one is added. Names
 * are qualified: a pooler in transaction mode keeps no `search_path`.
 */
export interface Migration {
  /** Ascending from 1, without gaps. */
  version: number;
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

export const MIGRATIONS: readonly Migration[] = [SESSIONS, WRITERS];
