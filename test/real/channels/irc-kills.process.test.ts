/** Lines over IRC while the host is killed and the network cut: what has no turn was written in a time that the host reported. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { describe, it } from "node:test";
import { messageText } from "../../../packages/host/src/command/rewind.ts";
import { createPagurus } from "../../../packages/app/src/create.ts";
import { openServerDatabase } from "../../../packages/inbox/src/server-database.ts";
import { FULL } from "../../runner/short-form.ts";
import { untilWithin } from "../../runner/until.ts";
import { startServer } from "../../servers/server.ts";
import { Ngircd } from "../../servers/ngircd.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { CuttingRelay } from "./cutting-relay.ts";
import { lastWords } from "./host-context.ts";
import { IrcPerson } from "./irc-person.ts";

const KILLS = FULL ? 100 : 2;
const KILL_EVERY_MS = 1_500;
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

async function log(setting: Setting): Promise<string> {
  return (await finish(setting, ["channels", "logs", "harbour", "--count", "500"])).stdout;
}

/** Resolves when the host of this start is connected. */
async function isConnected(setting: Setting, since: number): Promise<void> {
  await untilWithin(CONNECTS_MS, async () => {
    const times = (await log(setting)).matchAll(/^(\S+) harbour connected/gm);
    return [...times].some(([, at = ""]) => Date.parse(at) >= since);
  });
}

/** The times of which the host reported that something may not have arrived; the log keeps the newest events alone. */
async function reported(setting: Setting, known: Map<string, Times>): Promise<void> {
  const stdout = await log(setting);
  for (const [, from = "", to = ""] of stdout.matchAll(/from (20[\dT:.-]+Z) to (20[\dT:.-]+Z): IRC/g))
    known.set(from + to, { from: Date.parse(from), to: Date.parse(to) });
}

/** How many lines that arrived wait for their turns, or for their answers to be sent. */
function waiting({ home }: Setting): number {
  const db = openServerDatabase(home);
  const count = (from: string): number =>
    db.get<{ count: number }>(`SELECT COUNT(*) AS count FROM ${from}`)?.count ?? 0;
  try {
    return (
      count("work WHERE state <> 'ended'") + count("channel_outgoing WHERE state NOT IN ('sent', 'lost')")
    );
  } finally {
    db.close();
  }
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
    try {
      await isConnected(setting, started);
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
          if (waiting(setting) < MOST_WAITING) await write();
          await pause(WRITE_EVERY_MS);
        }
      };
      const kills = async (): Promise<void> => {
        for (let kill = 0; kill < KILLS && !isOver; kill += 1) {
          if (kill % CUT_EVERY === 0) {
            relay.cut();
            await pause(KILL_EVERY_MS);
          }
          await server.kill();
          const since = Date.now();
          await server.begin();
          await isConnected(setting, since);
          await pause(KILL_EVERY_MS);
          await reported(setting, gaps);
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
      await reported(setting, gaps);
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
      await server.kill();
      await ann.end();
      await model.close();
      relay.close();
      await ngircd.end();
      setting.remove();
    }
  });
});
