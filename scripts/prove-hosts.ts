/** The claims of several hosts, and the steps that prove each. */
import { bench, tests, type Proof } from "./proof.ts";

export const HOSTS: Record<string, Proof> = {
  "hosts.1": {
    claim:
      "The suites of stores, turns, lanes, crashes and the lossless engine pass on PostgreSQL, two servers share sessions and work, and the engine's memory is rebuilt from the log.",
    steps: [
      tests("the suite", "test/real/postgres/postgres-conformance"),
      tests("suites with PostgreSQL in place of the files", "test/real/postgres/suites"),
      tests("two servers", "test/real/postgres/shared-work", "test/real/postgres/two-hosts"),
      tests("a lost database of the engine", "test/engines/lossless/lost-database", "test/turn/lost-memory"),
    ],
  },
  "hosts.2": {
    claim:
      "Three hosts that are killed, stalled and cut off, and a database that is restarted, lose and double nothing.",
    steps: [
      tests("a database that is away for long", "test/real/postgres/database-away"),
      tests("kills, stalls, restarts", "test/real/postgres/hosts-kills"),
    ],
  },
  "hosts.3": {
    claim:
      "What sessions in PostgreSQL cost over the embedded store, near and far, in small tables and in large ones.",
    steps: [bench("hosts")],
  },
  "hosts.4": {
    claim:
      "A home with real conversations is copied into PostgreSQL and back byte for byte, also after kills in the middle.",
    steps: [
      tests("copies there and back, kill -9 of the copy and of PostgreSQL", "test/real/postgres/store-copy"),
      tests("jobs and tokens too, also after kills of the copy", "test/real/postgres/copy-records"),
      tests("a copied home that a host of the database continues", "test/real/postgres/copied-host"),
    ],
  },
  "hosts.5": {
    claim:
      "A session begun in Codex on one host, killed in a turn, continues in Claude Code on another: every word once, at the wire too.",
    steps: [tests("the two programs on two hosts", "test/real/postgres/codex-to-claude")],
  },
  "hosts.6": {
    claim: "One tenant reads nothing of another's in the database, by any of our commands or statements.",
    steps: [tests("row-level security", "test/real/postgres/store-security")],
  },
};
