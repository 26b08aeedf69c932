/** Lines over IRC while the host is killed and the network cut: what has no turn was written in a time that the host reported. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { describe, it } from "node:test";
import { ChannelEvents, type ChannelEvent } from "../../../packages/channels/src/channel-events.ts";
import { messageText } from "../../../packages/host/src/command/rewind.ts";
import { createPagurus } from "../../../packages/app/src/create.ts";
import type { Database } from "../../../packages/core/src/data/sqlite.ts";
import { openServerDatabase } from "../../../packages/inbox/src/server-database.ts";
import { FULL } from "../../runner/short-form.ts";
import { untilWithin } from "../../runner/until.ts";
import { startServer } from "../../servers/server.ts";
import { Ngircd } from "../../servers/ngircd.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { CuttingRelay } from "./cutting-relay.ts";
import { lastWords } from "./host-context.ts";
import { IrcPerson } from "./irc-person.ts";

const KILLS = FULL ? 100 : 2;
/** Pause while the network is cut, ms. */
const CUT_MS = 1_500;
/** Time from a connection to the next kill, ms; after a crash the host reports the last second before it too. */
const CONNECTED_MS = 3_500;
/** Kills between two reports of progress. */
const SHOWN_EVERY = 10;
/** Before one of so many kills the network is cut. */
const CUT_EVERY = 3;
const WRITE_EVERY_MS = 100;
/**
 * Lines that wait for their turns or answers; while there are more, none is written. Each kill costs the turns of some seconds, and each
 * answer some delays of the network, so that without this most of the answers would be sent long after the last kill.
 */
const MOST_WAITING = 100;
/** What the server has passed on is under way for so long, and lost with the connection. */
const DELAY_MS = 200;
/** Longest time from a start of the host until it is connected, on a machine that is busy, ms. */
const CONNECTS_MS = 180_000;
/** Lines after the last kill, until one is answered: each may be lost as any other. */
const MOST_LAST = 3;

interface Times {
  from: number;
  to: number;
}

/** A line, and the time in which the server took it. */
interface Line extends Times {
  text: string;
}

function eventsOf(db: Database): ChannelEvent[] {
  return new ChannelEvents(db).last(500, "harbour");
}

/** Resolves when the host of this start is connected. */
async function isConnected(db: Database, since: number): Promise<void> {
  await untilWithin(CONNECTS_MS, () =>
    eventsOf(db).some(({ what, at }) => what === "connected" && at >= since),
  );
}

/** The times of which the host reported that something may not have arrived; the log keeps the newest events alone. */
function reported(db: Database, known: Map<string, Times>): void {
  for (const { detail } of eventsOf(db)) {
    const [, from = "", to = ""] = /from (20[\dT:.-]+Z) to (20[\dT:.-]+Z): IRC/.exec(detail) ?? [];
    if (from !== "") known.set(from + to, { from: Date.parse(from), to: Date.parse(to) });
  }
}

/** How many lines that arrived wait for their turns, or for their answers to be sent. */
function waiting(db: Database): number {
  const count = (from: string): number =>
    db.get<{ count: number }>(`SELECT COUNT(*) AS count FROM ${from}`)?.count ?? 0;
  return count("work WHERE state <> 'ended'") + count("channel_outgoing WHERE state NOT IN ('sent', 'lost')");
}

/** In the session of the person, in order. */
async function turns(setting: Setting): Promise<string[]> {
  const pagurus = await createPagurus({ home: setting.home, env: setting.env });
  try {
    const store = pagurus.sessions("main");
    const key = store.list().find(({ sessionKey }) => sessionKey.startsWith("harbour:ann"))?.sessionKey ?? "";
    const reader = store.openReader(key);
    const inputs: string[] = [];
    for await (const entry of reader.cursor.forward())
      if (entry.type === "message" && entry.message.role === "user") inputs.push(messageText(entry.message));
    reader.close();
    return inputs;
  } finally {
    await pagurus.close();
  }
}

describe("a channel over IRC under kills", () => {
  it("gives a line at most one turn and one answer, and reports the time of each that it missed", async (t) => {
    const ngircd = await Ngircd.start();
    const relay = await CuttingRelay.to(ngircd.port, DELAY_MS);
    const model = await startServer({
      protocol: "openai-completions",
      script: (request) => ({ text: `Answer to ${lastWords(request)}` }),
    });
    const harbour = {
      kind: "irc",
      nick: "crab",
      service: `irc://127.0.0.1:${relay.port}`,
      serverPassword: Ngircd.password,
      allow: ["ann!~ann@127.0.0.1"],
      linesPerSecond: 100,
      waitingPerPerson: 100_000,
      waitingPerSession: 100_000,
    };
    const longest = { contextWindow: 1_000_000 };
    const setting = makeSetting(
      modelConfig("openai-completions", model.url, longest, { channels: { harbour } }),
    );
    const ann = new IrcPerson("ann", ngircd);
    await ann.connect();
    const started = Date.now();
    const server = await ServeProcess.start(setting);
    // A program for each look would take most of the time.
    const db = openServerDatabase(setting.home);
    try {
      await isConnected(db, started);
      const lines: Line[] = [];
      const gaps = new Map<string, Times>();
      let isOver = false;
      const write = async (): Promise<string> => {
        const text = `line ${lines.length}`;
        const from = Date.now();
        ann.say("crab", text);
        await ann.settled();
        lines.push({ text, from, to: Date.now() });
        return text;
      };
      const writes = async (): Promise<void> => {
        while (!isOver) {
          if (waiting(db) < MOST_WAITING) await write();
          await pause(WRITE_EVERY_MS);
        }
      };
      const kills = async (): Promise<void> => {
        for (let kill = 0; kill < KILLS && !isOver; kill += 1) {
          if (kill % CUT_EVERY === 0) {
            relay.cut();
            await pause(CUT_MS);
          }
          await server.kill();
          const since = Date.now();
          await server.begin();
          await isConnected(db, since);
          await pause(CONNECTED_MS);
          reported(db, gaps);
          if ((kill + 1) % SHOWN_EVERY === 0)
            t.diagnostic(
              `${kill + 1} kills, ${lines.length} lines, ${Math.round((Date.now() - started) / 1_000)} s`,
            );
        }
        isOver = true;
      };
      const over = (): boolean => (isOver = true);
      await Promise.all([kills().finally(over), writes().finally(over)]);
      for (let left = MOST_LAST; left > 0; left -= 1) {
        const answer = new RegExp(`^Answer to ${await write()}$`);
        const isAnswered = await ann.untilSeen("crab", answer).then(
          () => true,
          (error: unknown) => {
            t.diagnostic(`${lines.length} lines were written; ${String(error)}`);
            return false;
          },
        );
        if (isAnswered) break;
        assert.ok(left > 1, "no line was answered after the last kill");
      }
      reported(db, gaps);
      await server.kill("SIGTERM");
      const taken = await turns(setting);
      const answers = ann.got("crab").filter((text) => text.startsWith("Answer to line "));
      const written = lines.map(({ text }) => text).filter((text) => taken.includes(text));
      assert.deepEqual(taken, written, "each once, in order");
      assert.equal(new Set(answers).size, answers.length, "no answer came twice");
      const unreported = lines.filter(
        ({ from, to }) => ![...gaps.values()].some((gap) => gap.from <= to && gap.to >= from),
      );
      t.diagnostic(
        `${lines.length} lines, ${unreported.length} of them outside the ${gaps.size} times that were reported; ${taken.length} turns, ${answers.length} answers`,
      );
      assert.deepEqual(
        unreported.filter(({ text }) => !taken.includes(text)),
        [],
      );
      assert.ok(unreported.length > KILLS, "what was reported is not all of the time");
      assert.ok(taken.length > KILLS && taken.length < lines.length, "some arrived, and some did not");
    } finally {
      db.close();
      await server.kill();
      await ann.end();
      await model.close();
      relay.close();
      await ngircd.end();
      setting.remove();
    }
  });
});
