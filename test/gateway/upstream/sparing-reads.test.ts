import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { test, type TestContext } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import type { Dialect } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { directAgents, type DirectAgents } from "../../../packages/gateway/src/upstream/direct-agents.ts";
import { directUpstream } from "../../../packages/gateway/src/upstream/direct.ts";
import { SparingReads } from "../../../packages/gateway/src/upstream/sparing-reads.ts";
import type { UpstreamAnswer } from "../../../packages/gateway/src/upstream/upstream.ts";
import { chunk, LAST_CHUNK, rawEndpoint, STREAM_HEAD, type Asked } from "../server/support.ts";
import { TestClock } from "../../runner/test-clock.ts";
import { until } from "../../runner/until.ts";

/** Least interval of two reads of a connection, ms. */
const APART_MS = 16;
/** Number of answers from which on reads are delayed. */
const MANY = 50;
/** Longest interval of two reads, ms. */
const MOST_REST_MS = 50;
/** On Windows connections share no buffer, and no reads are delayed. */
const skip = process.platform === "win32";

function readsBeside(others: number, clock: TestClock): SparingReads {
  const reads = new SparingReads(clock);
  for (let other = 0; other < others; other++) reads.begin();
  return reads;
}

interface Connection {
  socket: Duplex;
  /** How often reading was resumed in the system. */
  begun(): number;
  /** Simulates a read; returns whether the system continues. */
  took(length: number): boolean;
}

/** A connection in the middle of an answer that is being read. */
async function connection(reads: SparingReads): Promise<Connection> {
  let begun = 0;
  let took: Connection["took"] = () => false;
  const socket = reads.open((onread) => {
    took = (length) => onread.callback(length, onread.buffer as Uint8Array);
    return new Duplex({ read: () => void (begun += 1), write: (_, __, done) => done() });
  });
  socket.on("data", () => undefined);
  await turnOfLoop();
  assert.equal(took(10), true);
  await turnOfLoop();
  return { socket, begun: () => begun, took };
}

test("a connection pauses between reads while many answers stream, and never while few do", async () => {
  const clock = new TestClock();
  const reads = readsBeside(MANY - 1, clock);
  const { begun, took } = await connection(reads);
  assert.equal(took(10), true);
  const end = reads.begin();
  const before = begun();
  assert.equal(took(10), false);
  clock.move(APART_MS - 1);
  await turnOfLoop();
  assert.equal(begun(), before);
  clock.move(1);
  assert.equal(begun(), before + 1);
  end();
  assert.equal(took(10), true);
});

test("a read or resume of a connection during its pause, also after it was paused, takes effect at the end of it", async () => {
  const ways: ((socket: Duplex) => void)[] = [
    (socket) => void socket.read(0),
    (socket) => void socket.resume(),
    (socket) => void socket.pause().resume(),
  ];
  for (const way of ways) {
    const clock = new TestClock();
    const { socket, begun, took } = await connection(readsBeside(MANY, clock));
    took(10);
    await turnOfLoop();
    const before = begun();
    way(socket);
    await turnOfLoop();
    assert.equal(begun(), before);
    clock.move(APART_MS);
    await until(() => begun() > before);
  }
});

test("a connection that was paused during its delay, or is gone, is not read at its end", async () => {
  for (const leave of [(socket: Duplex) => void socket.pause(), (socket: Duplex) => void socket.destroy()]) {
    const clock = new TestClock();
    const { socket, begun, took } = await connection(readsBeside(MANY, clock));
    took(10);
    await turnOfLoop();
    leave(socket);
    const before = begun();
    clock.move(3 * APART_MS);
    await turnOfLoop();
    assert.equal(begun(), before);
  }
});

test("a kept connection with a new request ends its delay, and begins none at the head of the answer", async () => {
  const reads = readsBeside(MANY, new TestClock());
  const { socket, begun, took } = await connection(reads);
  assert.equal(took(10), false);
  const before = begun();
  reads.renew(socket);
  assert.equal(begun(), before + 1);
  assert.equal(took(10), true);
  assert.equal(took(10), false);
});

test("a connection with much data is read at once, also after a short read, until it has little again", async () => {
  const clock = new TestClock();
  const { took } = await connection(readsBeside(MANY, clock));
  assert.equal(took(40_000), true);
  assert.equal(took(10), true);
  clock.move(2 * APART_MS);
  assert.equal(took(10), true);
  clock.move(2 * APART_MS);
  assert.equal(took(10), false);
});

test("connections whose delays end together are read some at a time, so that a new request is seen in between", async () => {
  const clock = new TestClock();
  const reads = readsBeside(MANY, clock);
  const all = await Promise.all(Array.from({ length: 12 }, () => connection(reads)));
  for (const { took } of all) assert.equal(took(10), false);
  const begun = (): number => all.reduce((sum, each) => sum + each.begun(), 0);
  const before = begun();
  clock.move(2 * APART_MS);
  let last = begun();
  assert.ok(last - before <= 4, `${last - before} at once`);
  while (last < before + all.length) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = begun();
    assert.ok(now - last <= 4, `${now - last} in one turn`);
    last = now;
  }
});

test("the delay grows with the number of answers", async () => {
  const clock = new TestClock();
  const { begun, took } = await connection(readsBeside(4 * MANY, clock));
  assert.equal(took(10), false);
  const before = begun();
  clock.move(2 * APART_MS);
  assert.equal(begun(), before);
  clock.move(2);
  assert.equal(begun(), before + 1);
});

interface Ask {
  path?: string;
  method?: string;
  signal?: AbortSignal;
}

/** An endpoint that answers by the path. */
async function endpoint(
  t: TestContext,
  answer: (socket: Socket, path: string) => void,
  clock = new TestClock(),
): Promise<{ agents: DirectAgents; ask(ask?: Ask): Promise<UpstreamAnswer> }> {
  const agents = directAgents(clock);
  const raw = await rawEndpoint((socket, { line }: Asked) =>
    answer(socket, /\/v1\/(\S*)/.exec(line)?.[1] ?? ""),
  );
  t.after(async () => {
    agents.close();
    await raw.close();
  });
  const upstream = directUpstream({ label: "test", baseUrl: raw.baseUrl, agents });
  const ask = ({ path = "", method = "POST", signal = new AbortController().signal }: Ask = {}) =>
    upstream.send({
      method,
      path: `/${path}`,
      rawHeaders: [],
      body: method === "POST" ? [Buffer.from("{}")] : [],
      read: undefined,
      dialect: {} as Dialect,
      signal,
    });
  return { agents, ask };
}

const WORDS = Array.from({ length: 100 }, (_, at) => `word ${at};`);

async function sayWords(socket: Socket): Promise<void> {
  socket.write(STREAM_HEAD);
  for (const word of WORDS) {
    socket.write(chunk(word));
    await turnOfLoop();
  }
  socket.write(LAST_CHUNK);
}

/** The text of an answer, and in how many turns of the event loop it came. */
async function received({ stream }: UpstreamAnswer): Promise<{ words: string; turns: number }> {
  let words = "";
  let turns = 0;
  let isNew = true;
  stream.on("data", (piece) => {
    words += String(piece);
    if (!isNew) return;
    isNew = false;
    turns += 1;
    setImmediate(() => (isNew = true));
  });
  await new Promise((resolve, reject) => stream.once("end", resolve).once("error", reject));
  return { words, turns };
}

test(
  "while many answers stream, the pieces of each come together, and all of them before its end",
  { skip },
  async (t) => {
    const clock = new TestClock();
    let written = 0;
    const say = async (socket: Socket): Promise<void> => sayWords(socket).then(() => void (written += 1));
    const { agents, ask } = await endpoint(t, (socket) => void say(socket), clock);
    for (let other = 0; other < MANY; other++) agents.reads.begin();
    const answers = Array.from({ length: 10 }, async () => received(await ask()));
    await until(() => written === answers.length);
    for (const { words, turns } of await clock.passWhile(MOST_REST_MS, Promise.all(answers))) {
      assert.equal(words, WORDS.join(""));
      // At its begin, and after its delay; the data of one read may be passed in two turns.
      assert.ok(turns <= 8, `${turns} turns`);
    }
  },
);

test(
  "while many answers stream, the head of an answer and the data after it are not delayed, also on a kept connection",
  { skip },
  async (t) => {
    let say = (): void => undefined;
    const { agents, ask } = await endpoint(t, (socket) => {
      socket.write(STREAM_HEAD);
      say = () => void socket.write(Buffer.concat([chunk("word"), Buffer.from(LAST_CHUNK)]));
    });
    for (let other = 0; other < MANY; other++) agents.reads.begin();
    for (let time = 0; time < 12; time++) {
      const { stream } = await ask();
      const ended = new Promise((resolve) => stream.once("end", resolve));
      say();
      // The clock is not moved: what is delayed never comes.
      await new Promise((resolve) => stream.once("data", resolve));
      await ended;
      await turnOfLoop();
    }
  },
);

test("an answer is counted while it streams, however it ends", async (t) => {
  const { agents, ask } = await endpoint(t, (socket, path) => {
    if (path === "empty") return void socket.write("HTTP/1.1 204 No Content\r\n\r\n");
    socket.write(STREAM_HEAD);
    if (path === "cut") return void socket.write(chunk("word"), () => socket.destroy());
    if (path !== "hang") socket.write(Buffer.concat([chunk("word"), Buffer.from(LAST_CHUNK)]));
    return undefined;
  });
  let counted = 0;
  let began = 0;
  const begin = agents.reads.begin.bind(agents.reads);
  agents.reads.begin = () => {
    counted += 1;
    began += 1;
    const end = begin();
    return () => {
      counted -= 1;
      end();
    };
  };
  const read = ({ stream }: UpstreamAnswer): void => void stream.on("error", () => undefined).resume();
  const aborted = async (path: string, take: (answer: UpstreamAnswer) => void): Promise<void> => {
    const controller = new AbortController();
    take(await ask({ path, signal: controller.signal }));
    assert.equal(counted, 1);
    controller.abort();
  };
  const ways: [string, () => Promise<void>][] = [
    ["whole", async () => read(await ask({ path: "whole" }))],
    ["without a body", async () => read(await ask({ path: "empty" }))],
    ["cut", async () => read(await ask({ path: "cut" }))],
    ["destroyed", async () => void (await ask({ path: "hang" })).stream.destroy()],
    ["aborted while it is read", () => aborted("hang", read)],
    ["aborted while nobody reads it", () => aborted("hang", () => undefined)],
  ];
  for (const [name, way] of ways) {
    const before = began;
    await way();
    assert.equal(began, before + 1, name);
    await until(() => counted === 0);
  }
});
