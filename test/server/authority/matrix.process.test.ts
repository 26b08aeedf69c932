/** Each field of the API, with each kind of caller: what the caller may name is let through, everything else is refused. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { API_ROWS, type FieldKind } from "./field-rows.ts";
import { isRefused } from "./matrix-rule.ts";
import { CALLERS, MatrixServer } from "./matrix-setting.ts";

const REFUSED = new Set([401, 403, 404]);

/** A valid value of each field that an operation needs. */
const BODIES: Readonly<Record<string, object>> = {
  "POST /sessions/{key}/turns": { prompt: "Hello." },
  "POST /sessions/{key}/steer": { text: "more" },
  "POST /sessions/{key}/commands": { name: "pins" },
  "POST /sessions/{key}/rewind": { entryId: null },
  "POST /sessions/{key}/name": { name: "Berths" },
  "POST /sessions/{key}/slash": { line: "/cost" },
  "POST /approvals/{id}": { answer: "once" },
  "POST /tokens": { name: "child", scope: "read", sessions: "fam-*", agents: "main" },
  "POST /command-files/expand": { name: "none" },
  "POST /channels/approve": { code: "NONE" },
  "POST /channels/remove": { channel: "none", address: "none" },
  "POST /jobs": { prompt: "x", times: { kind: "every", everyMs: 86_400_000 } },
};
const QUERIES: Readonly<Record<string, string>> = {
  "GET /search": "q=word",
  "GET /sessions/{key}/requests/{request}/body": "to=10",
};

interface Probe {
  operation: string;
  /** Absent: the operation itself. */
  field: string;
  kind: FieldKind;
  isWithin: boolean;
}

function probesOf(operation: string): Probe[] {
  const rows = Object.entries(API_ROWS[operation] ?? {});
  const own: Probe = { operation, field: "", kind: "data", isWithin: true };
  const limited = rows.filter(([, kind]) => kind !== "data" && kind !== "owner");
  const owners = rows.filter(([, kind]) => kind === "owner");
  return [
    ...(owners.length > 0
      ? owners.map(([field]) => ({ operation, field, kind: "owner" as const, isWithin: true }))
      : [own]),
    ...limited.map(([field, kind]) => ({ operation, field, kind, isWithin: false })),
  ];
}

describe("the matrix of fields and callers", () => {
  let matrix: MatrixServer;
  before(async () => {
    matrix = await MatrixServer.start();
  });
  after(() => matrix.close());

  /** The id of something new that belongs to a session of the owner. */
  async function ownedId(operation: string, key: string): Promise<string> {
    const { server } = matrix;
    if (operation.includes("/tokens/")) {
      const { body } = await server.call("POST", "/api/v1/tokens", { name: key });
      return String((body["token"] as { id: string }).id);
    }
    if (operation.includes("/jobs/")) {
      const job = { prompt: "x", session: key, times: { kind: "every", everyMs: 86_400_000 } };
      return String((await server.call("POST", "/api/v1/jobs", job)).body["id"]);
    }
    if (!operation.includes("/approvals/")) {
      const { body } = await server.call("POST", `/api/v1/sessions/${key}/compact`, {});
      return String(body["id"]);
    }
    await server.call("POST", `/api/v1/sessions/${key}/turns`, { prompt: `use the shell for ${key}` });
    for (;;) {
      const { body } = await server.call("GET", "/api/v1/approvals");
      const found = (body["approvals"] as { id: string; session: string }[]).find(
        (each) => each.session === key,
      );
      if (found) return found.id;
      await pause(20);
    }
  }

  function beyondValue(field: string, kind: FieldKind): unknown {
    if (kind === "folder") return matrix.outside;
    if (kind === "agent") return "other";
    if (kind === "mode") return "auto";
    if (kind === "rule") return "always";
    if (kind === "programs") return { kind: "command", command: "true" };
    const limits: Record<string, unknown> = {
      "body.scope": "admin",
      "body.sessions": "*",
      "body.agents": "*",
      "body.folders": "any",
      "body.mode": "auto",
      "body.mayStartPrograms": true,
      "body.mayRemember": true,
      "body.expiresAt": Date.now() + 86_400_000,
    };
    return limits[field];
  }

  async function requestOf({
    operation,
    field,
    kind,
    isWithin,
  }: Probe): Promise<{ method: string; path: string; body?: object }> {
    const [method = "", template = ""] = operation.split(" ");
    const isBeyond = (name: string): boolean => !isWithin && field === name;
    const agent = isBeyond("query.agent") || isBeyond("body.agent") ? "other" : "main";
    const keyIsIn =
      !(kind === "session" && isBeyond("path.key")) && !(kind === "owned" && isBeyond("path.id"));
    const isShared = method === "GET";
    const key = await matrix.session(keyIsIn, agent, isShared);
    const query = new URLSearchParams(QUERIES[operation]);
    const body: Record<string, unknown> = { ...BODIES[operation] };
    const rows = API_ROWS[operation] ?? {};
    for (const [name, rowKind] of Object.entries(rows)) {
      const [place = "", last = ""] = name.split(".");
      const value =
        rowKind === "session" && place !== "path"
          ? operation === "POST /sessions" || operation.endsWith("/fork")
            ? matrix.key(!isBeyond(name))
            : await matrix.session(!isBeyond(name), agent, isShared)
          : rowKind === "agent" && place !== "path"
            ? agent
            : isBeyond(name)
              ? beyondValue(name, rowKind)
              : undefined;
      if (
        value === undefined ||
        (name === "query.session" && !isBeyond(name)) ||
        (name === "query.key" && !isBeyond(name))
      )
        continue;
      if (place === "query") query.set(last, value as string);
      if (place === "body") body[last] = value;
    }
    const id = template.includes("{id}") ? await ownedId(operation, key) : "";
    const path = template
      .replace("{key}", encodeURIComponent(key))
      .replace("{id}", id)
      .replace(/\{\w+\}/g, "none");
    const search = query.size > 0 ? `?${query.toString()}` : "";
    return { method, path: `/api/v1${path}${search}`, ...(method === "POST" ? { body } : {}) };
  }

  for (const operation of Object.keys(API_ROWS))
    it(`lets through what a caller may name and refuses the rest: ${operation}`, async () => {
      for (const probe of probesOf(operation))
        for (const caller of CALLERS) {
          const request = await requestOf(probe);
          const { status, text } = await matrix.status(caller, request);
          // A turn that waits for an answer holds one of the places of running turns.
          if (operation === "POST /approvals/{id}") await matrix.stopAll();
          const shown = `${caller.name}: ${operation} ${probe.field} ${probe.isWithin ? "within" : "beyond"}: ${status} ${text}`;
          assert.ok(status < 500 && status !== 429, shown);
          if (isRefused(caller, probe)) assert.ok(REFUSED.has(status), shown);
          else assert.ok(!text.includes('"token_invalid"') && status !== 401 && status !== 403, shown);
        }
    });
});
