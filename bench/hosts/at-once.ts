/** Many sessions at once on two servers of one database. */
import type { PostgresServer } from "../../test/servers/postgres.ts";
import { ServeProcess } from "../../test/server/serve-setting.ts";
import { makeSetting, modelConfig } from "../../test/turn/setting.ts";
import { newTables } from "../../test/real/postgres/hosts.ts";
import type { BenchRow } from "../report.ts";

const HOSTS = 2;

export async function atOnceRows(
  server: PostgresServer,
  modelUrl: string,
  { sessions, turns }: { sessions: number; turns: number },
): Promise<BenchRow[]> {
  const { schema } = await newTables(server.url);
  const store = { kind: "postgres", url: server.url, schema };
  const config = modelConfig("openai-completions", modelUrl, { contextWindow: 900_000 });
  const hosts: ServeProcess[] = [];
  try {
    for (let at = 0; at < HOSTS; at += 1)
      hosts.push(await ServeProcess.start(makeSetting({ ...config, store })));
    const one = async (session: number, turn: number): Promise<void> => {
      const host = hosts[(session + turn) % HOSTS] as ServeProcess;
      const { body } = await host.call("POST", `/api/v1/sessions/s${session}/turns`, { prompt: "hello" });
      const path = `/api/v1/work/${String(body["id"])}/events`;
      await host.events(path, ({ type }) => type === "work.ended");
    };
    const from = performance.now();
    await Promise.all(
      Array.from({ length: sessions }, async (_, session) => {
        for (let turn = 0; turn < turns; turn += 1) await one(session, turn);
      }),
    );
    const value = (sessions * turns) / ((performance.now() - from) / 1_000);
    return [{ measure: `${sessions} sessions at once on ${HOSTS} servers: turns`, value, unit: "1/s" }];
  } finally {
    for (const host of hosts) {
      await host.kill();
      host.setting.remove();
    }
  }
}
