/** A home of OpenClaw and our agents' folders, with helpers for the import tests. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  takeOpenClaw,
  type MigratedConversation,
  type TakeOptions,
  type Taken,
} from "../../../packages/importers/src/openclaw/sessions/take.ts";
import { openStore, temporaryFolder } from "../../stores/files/fixtures.ts";
import { LcmFixture } from "../sessions/lcm-fixture.ts";
import { ClawHome } from "./openclaw-home.ts";
import { messagesOf, pairProblem, read, outlineOf } from "../sessions/support.ts";

export interface Setting {
  home: ClawHome;
  /** Folder of an agent here. */
  agent: (id: string) => string;
  take: (how?: Partial<TakeOptions>) => Promise<Taken>;
}

export function setting(t: TestContext): Setting {
  const root = temporaryFolder(t);
  const home = new ClawHome(join(root, "openclaw"));
  const agent = (id: string): string => join(root, "agents", id);
  const take = (how: Partial<TakeOptions> = {}): Promise<Taken> =>
    takeOpenClaw({
      folder: home.folder,
      lcmFile: join(home.folder, "lcm.db"),
      agentDir: agent,
      dryRun: false,
      ...how,
    });
  return { home, agent, take };
}

/** Context and messages of a session. */
export async function seen(t: TestContext, folder: string, key: string) {
  const store = openStore(folder);
  t.after(() => store.close());
  const record = store.find(key);
  if (!record) throw new Error(`There is no session ${key}.`);
  const found = await read(store, record);
  assert.equal(pairProblem(found.context), undefined);
  return {
    record,
    context: found.context.map(outlineOf),
    path: messagesOf(found.path).map(outlineOf),
    all: messagesOf(found.entries).map(outlineOf),
    entries: found.entries,
  };
}

export function states(taken: Taken): string[] {
  return taken.conversations.map(({ state, agentId, sessionKey, sourceId }) =>
    [state, agentId, sessionKey ?? sourceId].join(" "),
  );
}

export function about(taken: Taken, sourceId: string): MigratedConversation {
  const found = taken.conversations.find((each) => each.sourceId === sourceId);
  if (!found) throw new Error(`${sourceId} is not in the report.`);
  return found;
}

/** Lossless-claw's rows of the messages of a transcript. */
export function lcmOf(
  home: ClawHome,
  session: string,
  key: string,
  messages: [string | null, string, string][],
) {
  const lcm = new LcmFixture(home.folder);
  lcm.exec("ALTER TABLE messages ADD COLUMN transcript_entry_id TEXT");
  const id = lcm.conversation({ session_id: session, session_key: key });
  const rows = messages.map(([entry, role, text], seq) => {
    const row = lcm.message(id, seq, role, text);
    if (entry !== null)
      lcm.exec(`UPDATE messages SET transcript_entry_id = '${entry}' WHERE message_id = ${row}`);
    return row;
  });
  return { lcm, id, rows };
}
