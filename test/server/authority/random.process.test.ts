/** Random requests of limited callers: whatever they name, nothing outside of their authority is read or changed. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { PERMISSION_MODES } from "../../../packages/contract/src/host/permission-modes.ts";
import { random } from "../../runner/seeded-random.ts";
import { FULL } from "../../runner/short-form.ts";
import { API_ROWS } from "./field-rows.ts";
import { CALLERS, MatrixServer, SECRET } from "./matrix-setting.ts";

const REQUESTS = FULL ? 1_000 : 150;
const LIMITED = CALLERS.filter(({ allSessions }) => !allSessions);

describe("random requests of callers that may use fam-* alone", () => {
  let matrix: MatrixServer;
  before(async () => {
    matrix = await MatrixServer.start();
  });
  after(() => matrix.close());

  /** What no limited caller may change, as the owner sees it. */
  async function outsideOf(): Promise<object> {
    const { server, setting, outside } = matrix;
    const { body } = await server.call("GET", "/api/v1/sessions?limit=1000");
    const sessions = (body["sessions"] as { key: string }[]).filter(({ key }) => !key.startsWith("fam-"));
    const tokens = (await server.call("GET", "/api/v1/tokens")).body["tokens"] as {
      parent?: string;
      usedAt?: number;
    }[];
    const jobs = (await server.call("GET", "/api/v1/jobs")).body["jobs"] as { session: string }[];
    return {
      sessions: sessions.toSorted((one, other) => (one.key < other.key ? -1 : 1)),
      tokens: tokens
        .filter(({ parent }) => parent === undefined)
        .map(({ usedAt: _usedAt, ...token }) => token),
      jobs: jobs.filter(({ session }) => !session.startsWith("fam-")),
      config: readFileSync(join(setting.home, "pagurus.json"), "utf8"),
      outside: readdirSync(outside, { recursive: true }),
    };
  }

  it("have no effect outside of their authority, and show nothing from there", async () => {
    const { server, outside } = matrix;
    const next = random(40);
    const of = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)] as T;
    const secret = await server.call("POST", "/api/v1/sessions/priv-secret/turns", {
      prompt: `Say ${SECRET}.`,
    });
    await server.ended(String(secret.body["id"]));
    const job = { prompt: SECRET, session: "priv-secret", times: { kind: "every", everyMs: 86_400_000 } };
    const ids = [
      String(secret.body["id"]),
      String((await server.call("POST", "/api/v1/jobs", job)).body["id"]),
      ...((await server.call("GET", "/api/v1/tokens")).body["tokens"] as { id: string }[]).map(
        ({ id }) => id,
      ),
    ];
    const before = await outsideOf();
    const keys = ["fam-a", "fam-b", "priv-secret", "priv-new", "main", "fam-*", "*"];
    const value = (name: string): unknown =>
      ({
        key: of(keys),
        session: of(keys),
        sessions: of(keys),
        agent: of(["main", "other"]),
        agents: of(["main", "*"]),
        cwd: of([outside, "/", `${outside}/..`, matrix.setting.workspace]),
        folder: of([outside, "/"]),
        folders: of(["any", [outside]]),
        permission: of(PERMISSION_MODES),
        mode: "auto",
        scope: of(["read", "chat", "admin"]),
        prompt: of(["Hello.", `use the shell for x${Math.floor(next() * 1e6)}`]),
        text: "more",
        q: SECRET,
        to: 10,
        name: of(["x", "pins"]),
        answer: of(["once", "always", "deny"]),
        times: { kind: "every", everyMs: 86_400_000 },
        check: of([
          { kind: "command", command: `touch ${outside}/made` },
          { kind: "file", path: join(outside, "AGENTS.md") },
        ]),
        mayStartPrograms: true,
        mayRemember: true,
        expiresAt: Date.now() + 86_400_000,
        entryId: null,
      })[name];
    for (let count = 0; count < REQUESTS; count += 1) {
      const operation = of(Object.keys(API_ROWS));
      const caller = of(LIMITED);
      const [method = "", template = ""] = operation.split(" ");
      const query = new URLSearchParams();
      const body: Record<string, unknown> = {};
      for (const name of Object.keys(API_ROWS[operation] ?? {})) {
        const [place = "", last = ""] = name.split(".");
        const made = value(last);
        if (made === undefined || (place === "query" && next() < 0.3)) continue;
        if (place === "query") query.set(last, made as string);
        if (place === "body" && next() < 0.8) body[last] = made;
      }
      const path = template
        .replace("{key}", encodeURIComponent(of(keys)))
        .replace("{id}", of(ids))
        .replace(/\{\w+\}/g, "none");
      const request = {
        method,
        path: `/api/v1${path}?${query.toString()}`,
        ...(method === "POST" ? { body } : {}),
      };
      const { status, text } = await matrix.status(caller, request);
      const shown = `${caller.name}: ${JSON.stringify(request)}: ${status} ${text.slice(0, 500)}`;
      assert.ok(status < 500, shown);
      // What the caller sent itself comes back in its own sessions.
      const own = JSON.stringify(request).includes(SECRET) || template === "/search";
      assert.ok(own || !text.includes(SECRET), shown);
    }
    await matrix.stopAll();
    assert.deepEqual(await outsideOf(), before);
    const sent = matrix.requests.filter(({ text }) => text.includes(SECRET));
    assert.ok(
      sent.every(({ text }) => text.includes(`Say ${SECRET}.`)),
      "a turn of another caller had the owner's words",
    );
  });
});
