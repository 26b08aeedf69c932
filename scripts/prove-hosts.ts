/** The claims of several hosts, and the steps that prove each. */
import { tests, type Proof } from "./proof.ts";

export const HOSTS: Record<string, Proof> = {
  "hosts.4": {
    claim:
      "A home with real conversations is copied into PostgreSQL and back byte for byte, also after kills in the middle.",
    steps: [
      tests("copies there and back, kill -9 of the copy and of PostgreSQL", "test/real/postgres/store-copy"),
      tests("a copied home that a host of the database continues", "test/real/postgres/copied-host"),
    ],
  },
  "hosts.6": {
    claim: "One tenant reads nothing of another's in the database, by any of our commands or statements.",
    steps: [tests("row-level security", "test/real/postgres/store-security")],
  },
};
