/** Lists over all sessions for callers of disjoint authority: what others have is left out before a limit or a page counts. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { EVENT_PAGE } from "../../../packages/inbox/src/event-log.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { until } from "../../runner/until.ts";
import { ServeProcess } from "../serve-setting.ts";

const OWN = 3;
const OTHERS = 8;
/** So many that others' events fill a page. */
const MORE_TURNS = 16;
const WORD = "heliotrope";
const PATTERNS = ["fam-*", "priv-*"] as const;
type Pattern = (typeof PATTERNS)[number];

/** A list of the API: its member, and the part of an item that says whose it is. */
interface ListRow {
  member: string;
  query?: string;
  ownerOf(item: Record<string, unknown>): unknown;
}

const bySession = ({ session }: Record<string, unknown>): unknown => session;

/** One for each list over several sessions. A stream has no member. One about the whole host is refused to callers of some sessions. */
const ROWS: Readonly<Record<string, ListRow | "stream" | "of no session" | "of the host">> = {
  "/api/v1/sessions": { member: "sessions", ownerOf: ({ key }) => key },
  "/api/v1/search": { member: "hits", query: `q=${WORD}`, ownerOf: ({ sessionKey }) => sessionKey },
  "/api/v1/records": { member: "records", ownerOf: ({ sessionKey }) => sessionKey },
  "/api/v1/jobs": { member: "jobs", ownerOf: bySession },
  "/api/v1/work": { member: "work", ownerOf: bySession },
  "/api/v1/approvals": { member: "approvals", ownerOf: bySession },
  "/api/v1/tokens": { member: "tokens", ownerOf: ({ name }) => name },
  "/api/v1/status": { member: "running", ownerOf: bySession },
  "/api/v1/events": "stream",
  "/api/v1/agents": "of no session",
  "/api/v1/channels": "of no session",
  "/api/v1/connections": "of no session",
  "/api/v1/health": "of no session",
  "/api/v1/spend": "of no session",
  "/api/v1/commands": "of no session",
  "/api/v1/choices": "of no session",
  "/api/v1/files": "of no session",
  "/api/v1/slash-commands": "of no session",
};

interface Parameter {
  name: string;
  in: string;
}

interface OpenApi {
  paths: Record<string, { get?: { parameters?: Parameter[]; responses: Record<string, unknown> } }>;
}

describe("a list over several sessions", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let document: OpenApi;
  /** Id of the caller's last work. */
  let last = "";
  const secrets = new Map<Pattern, string>();

  before(async () => {
    model = await startServer({
      protocol: "openai-completions",
      script: ({ text }) =>
        text.includes("use the shell")
          ? { text: "", toolCalls: [{ id: "c1", name: "shell", arguments: { command: "echo a" } }] }
          : { text: `${WORD} `.repeat(40), chunkSize: 4 },
    });
    const config = modelConfig("openai-completions", model.url) as { agents?: { defaults?: object } };
    const defaults = { ...config.agents?.defaults, permission: { mode: "ask" } };
    setting = makeSetting({ ...config, agents: { ...config.agents, defaults } });
    server = await ServeProcess.start(setting);
    document = (await server.call("GET", "/api/v1/openapi.json")).body as unknown as OpenApi;
    for (const sessions of PATTERNS) {
      const { body } = await server.call("POST", "/api/v1/tokens", {
        name: sessions,
        scope: "admin",
        sessions,
      });
      secrets.set(sessions, String(body["secret"]));
    }
    // The others' are newer, but for one event at the end.
    for (let count = 0; count < OWN; count++) await make("fam-*", count);
    for (let count = 0; count < OTHERS; count++) await make("priv-*", count);
    for (let count = 0; count < MORE_TURNS; count++) await turn("priv-0", "priv-*", "More.");
    last = await turn("fam-0", "fam-*", "The last.");
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  const as = (pattern: Pattern): Record<string, string> => ({
    authorization: `Bearer ${secrets.get(pattern) ?? ""}`,
  });
  const isOf = (pattern: Pattern, key: unknown): boolean =>
    typeof key === "string" && key.startsWith(pattern.slice(0, -1));

  async function turn(key: string, pattern: Pattern, prompt: string): Promise<string> {
    const path = `/api/v1/sessions/${key}/turns`;
    const { body, status } = await server.call("POST", path, { prompt }, as(pattern));
    assert.equal(status, 202, JSON.stringify(body));
    await server.ended(String(body["id"]));
    return String(body["id"]);
  }

  /** A session with a message, one that waits for an answer, a job and a token. */
  async function make(pattern: Pattern, count: number): Promise<void> {
    const key = `${pattern.slice(0, -1)}${count}`;
    await turn(key, pattern, `About ${WORD}.`);
    await server.call("POST", `/api/v1/sessions/${key}-asks/turns`, { prompt: "use the shell" }, as(pattern));
    const times = { kind: "every", everyMs: 86_400_000 };
    const job = await server.call("POST", "/api/v1/jobs", { prompt: "a", session: key, times }, as(pattern));
    assert.equal(job.status, 201, JSON.stringify(job.body));
    const token = { name: `${key}-child`, scope: "read", sessions: key };
    assert.equal((await server.call("POST", "/api/v1/tokens", token, as(pattern))).status, 201);
    await until(async () => {
      const { body } = await server.call("GET", "/api/v1/approvals");
      return (body["approvals"] as { session: string }[]).some(({ session }) => session === `${key}-asks`);
    });
  }

  async function itemsOf(path: string, row: ListRow, pattern: Pattern, more = ""): Promise<unknown[]> {
    const query = [row.query ?? "", more].filter((part) => part !== "").join("&");
    const { body, status } = await server.call("GET", `${path}?${query}`, undefined, as(pattern));
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
    return (body[row.member] as Record<string, unknown>[]).map((item) => row.ownerOf(item));
  }

  it("has a row here, for each that the OpenAPI document has", () => {
    const lists = Object.entries(document.paths).filter(([path, { get }]) => {
      if (!get || path.includes("{")) return false;
      const answer = JSON.stringify(get.responses["200"] ?? {});
      return answer.includes('"type":"array"') || answer.includes("text/event-stream");
    });
    assert.deepEqual(lists.map(([path]) => path).toSorted(), Object.keys(ROWS).toSorted());
  });

  it("that is about the whole host is refused to a caller of some sessions, and answered to the owner", async () => {
    for (const [path, row] of Object.entries(ROWS)) {
      if (row !== "of the host") continue;
      assert.equal((await server.call("GET", path)).status, 200, path);
      for (const pattern of PATTERNS)
        assert.equal(
          (await server.call("GET", path, undefined, as(pattern))).status,
          403,
          `${path} ${pattern}`,
        );
    }
  });

  it("has all of the caller's and nothing of another's", async () => {
    for (const [path, row] of Object.entries(ROWS)) {
      if (typeof row === "string") continue;
      for (const pattern of PATTERNS) {
        const items = await itemsOf(path, row, pattern);
        assert.ok(
          items.length >= (pattern === "fam-*" ? OWN : OTHERS),
          `${path} ${pattern}: ${String(items)}`,
        );
        assert.deepEqual(
          items.filter((key) => !isOf(pattern, key)),
          [],
          `${path} ${pattern}`,
        );
      }
    }
  });

  it("has a whole page of the caller's, although others' come first", async () => {
    let limited = 0;
    for (const [path, row] of Object.entries(ROWS)) {
      const parameters = document.paths[path]?.get?.parameters ?? [];
      if (typeof row === "string" || !parameters.some(({ name }) => name === "limit")) continue;
      limited += 1;
      for (const limit of [1, 2, OWN]) {
        const items = await itemsOf(path, row, "fam-*", `limit=${limit}`);
        assert.equal(items.length, limit, `${path}: ${String(items)}`);
        assert.ok(items.every((key) => isOf("fam-*", key)));
      }
    }
    assert.equal(limited, 2);
  });

  it("that is a stream reaches the caller's events after more of others than a page has", async () => {
    const events = await server.events("/api/v1/events?after=0", ({ data }) => isLast(data), as("fam-*"));
    assert.ok(events.every(({ data }) => isOf("fam-*", data["session"])));
    const gaps = events.map(({ id }, at) => id - (events[at - 1]?.id ?? id));
    assert.ok(Math.max(...gaps) > EVENT_PAGE, `${Math.max(...gaps)} events of others between`);
  });

  function isLast({ type, work }: Record<string, unknown>): boolean {
    return type === "work.ended" && work === last;
  }
});
