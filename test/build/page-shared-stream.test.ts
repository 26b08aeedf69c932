/** One stream of events for all tabs of a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServerEvent } from "../../packages/api/src/types.ts";
import { ClientError } from "../../packages/client/src/index.ts";
import {
  SharedStream,
  type EventSource,
  type Follower,
  type WantedEvents,
} from "../../packages/inspector/src/shared-stream.ts";
import { until } from "../runner/until.ts";

function event(id: number, session: string, type = "work.started"): ServerEvent {
  return { id, work: `w-${session}`, agent: "main", session, event: { type } as ServerEvent["event"] };
}

/** A server whose streams a test feeds. */
class Server implements EventSource {
  last = 5;
  /** Of each stream: who began it, and after which event. */
  readonly begun: [login: string, after: number][] = [];
  #open: { came: ServerEvent[]; failure?: unknown; wake(): void; signal: AbortSignal }[] = [];

  newest = (): Promise<number> => Promise.resolve(this.last);

  get open(): number {
    return this.#open.filter(({ signal }) => !signal.aborted).length;
  }

  async *events(login: string, after: number, signal: AbortSignal): AsyncGenerator<ServerEvent> {
    const stream = { came: [] as ServerEvent[], wake: (): void => undefined, signal, failure: undefined };
    this.#open.push(stream);
    this.begun.push([login, after]);
    signal.addEventListener("abort", () => stream.wake());
    try {
      while (!signal.aborted) {
        const next = stream.came.shift();
        if (next) yield next;
        else if (stream.failure !== undefined) throw stream.failure as Error;
        else await new Promise<void>((resolve) => (stream.wake = resolve));
      }
    } finally {
      this.#open = this.#open.filter((each) => each !== stream);
    }
  }

  send(...events: ServerEvent[]): void {
    for (const { came, wake } of this.#open) {
      came.push(...events);
      wake();
    }
  }

  fail(error: unknown): void {
    for (const stream of this.#open) {
      stream.failure = error;
      stream.wake();
    }
  }
}

class Tab implements Follower {
  readonly seen: number[] = [];
  begins: number | undefined;
  error: unknown;
  readonly login: string;
  readonly wanted: WantedEvents;

  constructor(wanted: WantedEvents = {}, login = "a") {
    this.wanted = wanted;
    this.login = login;
  }

  onBegin(after: number): void {
    this.begins = after;
  }

  onEvent({ id }: ServerEvent): void {
    this.seen.push(id);
  }

  onFailure(error: unknown): void {
    this.error = error;
  }
}

test("eight followers have one stream, and each gets what it wants", async () => {
  const server = new Server();
  const shared = new SharedStream(server);
  const tabs = Array.from({ length: 8 }, (_, at) => new Tab({ session: `s${at % 2}` }));
  const forget = tabs.map((tab) => shared.add(tab));
  await until(() => server.open === 1);
  server.send(event(6, "s0"), event(7, "s1"), event(8, "s0"));
  await until(() => tabs.every(({ seen }) => seen.length > 0) && tabs[0]?.seen.length === 2);
  assert.deepEqual(server.begun, [["a", 5]]);
  for (const [at, { seen, begins }] of tabs.entries())
    assert.deepEqual([begins, seen], [5, at % 2 === 0 ? [6, 8] : [7]]);
  for (const end of forget) end();
  await until(() => server.open === 0);
});

test("a follower that comes later begins after what the stream has delivered", async () => {
  const server = new Server();
  const shared = new SharedStream(server);
  const first = new Tab();
  shared.add(first);
  await until(() => server.open === 1);
  server.send(event(6, "s"));
  await until(() => first.seen.length === 1);
  const second = new Tab();
  shared.add(second);
  assert.equal(second.begins, 6);
  server.send(event(7, "s"));
  await until(() => second.seen.length === 1);
  assert.deepEqual([first.seen, second.seen], [[6, 7], [7]]);
});

test("leaves the pieces of answers out for those who do not want them", async () => {
  const server = new Server();
  const shared = new SharedStream(server);
  const tab = new Tab({ withoutDeltas: true });
  shared.add(tab);
  await until(() => server.open === 1);
  server.send(event(6, "s", "text.delta"), event(7, "s", "thinking.delta"), event(8, "s", "tool.output"));
  await until(() => tab.seen.length > 0);
  assert.deepEqual(tab.seen, [8]);
});

test("leads on from the same event with another login when the server has ended the first", async () => {
  const server = new Server();
  const shared = new SharedStream(server);
  const [ended, other] = [new Tab({}, "a"), new Tab({}, "b")];
  shared.add(ended);
  shared.add(other);
  await until(() => server.open === 1);
  server.send(event(6, "s"));
  await until(() => other.seen.length === 1);
  const refusal = new ClientError("token_invalid", "It has ended.", { status: 401 });
  server.fail(refusal);
  await until(() => server.begun.length === 2);
  server.send(event(7, "s"));
  await until(() => other.seen.length === 2);
  assert.deepEqual(server.begun, [
    ["a", 5],
    ["b", 6],
  ]);
  assert.equal(ended.error, refusal);
  assert.deepEqual([ended.seen, other.seen, other.error], [[6], [6, 7], undefined]);
});

test("a server that is away fails all followers, and the next one begins with a new stream", async () => {
  const server = new Server();
  const shared = new SharedStream(server);
  const tabs = [new Tab(), new Tab()];
  for (const tab of tabs) shared.add(tab);
  await until(() => server.open === 1);
  const lost = new ClientError("server_failed", "It does not answer.");
  server.fail(lost);
  await until(() => tabs.every(({ error }) => error === lost));
  server.last = 2;
  const again = new Tab();
  shared.add(again);
  await until(() => server.begun.length === 2);
  assert.deepEqual(server.begun[1], ["a", 2]);
  assert.equal(again.begins, 2);
});

test("the tab whose login the stream has may close: the others get each event once", async () => {
  const server = new Server();
  const shared = new SharedStream(server);
  const [leader, other] = [new Tab({}, "a"), new Tab({}, "b")];
  const close = shared.add(leader);
  shared.add(other);
  await until(() => server.open === 1);
  close();
  server.send(event(6, "s"));
  await until(() => other.seen.length === 1);
  // Its login ends with it.
  server.fail(new ClientError("token_invalid", "It has ended.", { status: 401 }));
  await until(() => server.begun.length === 2);
  server.send(event(7, "s"));
  await until(() => other.seen.length === 2);
  assert.deepEqual([leader.seen, other.seen, other.error], [[], [6, 7], undefined]);
});
