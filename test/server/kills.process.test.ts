/** Many clients that lose connections and repeat, while the server is killed again and again. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { it } from "node:test";
import { createPagurus } from "../../packages/app/src/create.ts";
import { messageText } from "../../packages/host/src/command/rewind.ts";
import { FULL } from "../runner/short-form.ts";
import { startServer } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess, type StreamedEvent } from "./serve-setting.ts";
import { random } from "../runner/seeded-random.ts";
import { longSuite } from "../runner/long-tests.ts";

const CLIENTS = FULL ? 20 : 4;
const POSTS = FULL ? 100 : 8;
const KILL_EVERY_MS = FULL ? 3_000 : 700;

interface Flood {
  server: ServeProcess;
  headers: Record<string, string>;
  isOver: boolean;
  /** How often the server was killed so far. */
  killed: number;
}

/** Repeats until the server answers; every third request is cut off by the client itself. */
async function insist(
  { server, headers }: Flood,
  next: () => number,
  [method, path, body]: readonly [string, string, unknown?],
  more: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  for (;;) {
    const cut = AbortSignal.timeout(next() < 0.3 ? Math.ceil(next() * 20) : 30_000);
    try {
      const answer = await fetch(`${server.url}${path}`, {
        method,
        headers: { ...headers, ...more, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: cut,
      });
      const value = (await answer.json()) as Record<string, unknown>;
      if (answer.ok) return value;
      assert.ok(answer.status >= 500, JSON.stringify(value));
    } catch (error) {
      // The connection was lost, or never made; the work may have been accepted all the same.
      if (error instanceof assert.AssertionError) throw error;
      await pause(20);
    }
  }
}

/** Follows a session over lost connections until the flood is over and the last event was seen. */
async function follow(flood: Flood, session: string, next: () => number): Promise<StreamedEvent[]> {
  const events: StreamedEvent[] = [];
  const ended = (): number => events.filter(({ type }) => type === "work.ended").length;
  while (ended() < POSTS) {
    const cut = AbortSignal.timeout(200 + Math.ceil(next() * 3_000));
    const resume = { "last-event-id": String(events.at(-1)?.id ?? 0) };
    try {
      for await (const event of flood.server.follow(
        `/api/v1/sessions/${session}/events`,
        { ...flood.headers, ...resume },
        cut,
      )) {
        events.push(event);
        if (ended() >= POSTS) break;
      }
    } catch {
      // The stream was cut; it is taken up at the last event.
      await pause(20);
    }
  }
  return events;
}

async function kills(flood: Flood): Promise<void> {
  while (!flood.isOver) {
    // Ever later in the short form, so that a very busy machine gets through its turns.
    await pause(FULL ? KILL_EVERY_MS : KILL_EVERY_MS * (1 + flood.killed / 2));
    if (flood.isOver) break;
    await flood.server.kill();
    flood.killed += 1;
    await flood.server.begin();
  }
}

async function inputsOf(setting: Setting, session: string): Promise<string[]> {
  const pagurus = await createPagurus({ home: setting.home, env: setting.env });
  const reader = pagurus.sessions().openReader(session);
  const inputs: string[] = [];
  for await (const entry of reader.cursor.forward())
    if (entry.type === "message" && entry.message.role === "user") inputs.push(messageText(entry.message));
  reader.close();
  await pagurus.close();
  return inputs;
}

longSuite(
  `${CLIENTS * POSTS} posts of ${CLIENTS} clients to a server that is killed every ${KILL_EVERY_MS} ms`,
  () => {
    it("have exactly one turn each, in order, and every event reaches each follower once", async () => {
      const model = await startServer({
        protocol: "openai-completions",
        script: async () => {
          await pause(50);
          return { text: "One word after the other." };
        },
      });
      const setting = makeSetting(modelConfig("openai-completions", model.url, { contextWindow: 900_000 }));
      const token = await finish(setting, ["token", "create", "--name", "flood"]);
      const server = await ServeProcess.start(setting);
      const flood = {
        server,
        headers: { authorization: `Bearer ${token.stdout.trim()}` },
        isOver: false,
        killed: 0,
      };
      try {
        const sessions = Array.from({ length: CLIENTS }, (_, index) => `client-${index}`);
        const killing = kills(flood);
        const followed = sessions.map((session, index) => follow(flood, session, random(7 + index)));
        const posted = await Promise.all(
          sessions.map(async (session, index) => {
            const next = random(index + 1);
            const ids: string[] = [];
            for (let post = 0; post < POSTS; post++) {
              // Also on a fast machine the work is not over before the first kill.
              while (post === POSTS - 1 && flood.killed === 0) await pause(20);
              const turn = [
                "POST",
                `/api/v1/sessions/${session}/turns`,
                { prompt: `message ${post}` },
              ] as const;
              const work = await insist(flood, next, turn, { "idempotency-key": `${session}-${post}` });
              ids.push(String(work["id"]));
            }
            return ids;
          }),
        );
        const events = await Promise.all(followed);
        flood.isOver = true;
        await killing;
        assert.ok(flood.killed > 0, "the server was killed");
        const calm = (): number => 1;
        for (const [index, session] of sessions.entries()) {
          const ids = posted[index] ?? [];
          assert.equal(new Set(ids).size, POSTS, "each post is work of its own");
          for (const id of ids) {
            const work = await insist(flood, calm, ["GET", `/api/v1/work/${id}`]);
            assert.equal(work["outcome"], "completed", JSON.stringify(work));
          }
          const seen = (events[index] ?? []).map(({ id }) => id);
          const all = await server.events(
            `/api/v1/sessions/${session}/events?after=0`,
            ({ id }) => id === seen.at(-1),
          );
          assert.deepEqual(
            seen,
            all.map(({ id }) => id),
          );
          const ends = all.filter(({ type }) => type === "work.ended").map(({ data }) => data["work"]);
          assert.deepEqual(ends, ids, "each ends once, in order");
        }
        await server.kill("SIGTERM");
        for (const session of sessions)
          assert.deepEqual(
            await inputsOf(setting, session),
            Array.from({ length: POSTS }, (_, post) => `message ${post}`),
          );
      } finally {
        flood.isOver = true;
        await server.kill();
        await model.close();
        setting.remove();
      }
    });
  },
);
