import { join } from "node:path";
import { after, before } from "node:test";
import { testStore } from "../../../packages/testkit/src/index.ts";
import type { PostgresSettings } from "../../../packages/postgres/src/settings.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { newTables, openHost } from "./hosts.ts";

let server: PostgresServer;
const places = new Map<string, PostgresSettings>();
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());

// Each opening is another host: a folder of its own, and the same tables.
testStore("PostgreSQL store", {
  open: async ({ dir, opening }) => {
    const settings = places.get(dir) ?? (await newTables(server.url));
    places.set(dir, settings);
    return openHost(join(dir, `host-${opening}`), settings);
  },
  abandon: async (writer) => {
    for (const { schema } of places.values())
      await server.query(
        `update ${schema}.sessions set lease_until = now() - interval '1 second', epoch = epoch + 1
          where session_id = $1`,
        [writer.record.sessionId],
      );
  },
});
