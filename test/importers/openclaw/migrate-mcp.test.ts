/** Tests of `migrate openclaw`: conversion of MCP servers. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { checkConfig } from "../../../packages/core/src/config/config-problems.ts";
import { setting } from "./migrate-setting.ts";

type Servers = Record<string, unknown>;

/** The converted servers, with the reports on them without `mcp.servers.`. */
function became(servers: Servers) {
  const { migrate, written } = setting({ logging: { level: "warn" }, mcp: { servers } });
  const { renamed, notTaken } = migrate();
  const value = written() as { mcp?: { servers: Servers } };
  assert.deepEqual(checkConfig(value), { problems: [], warnings: [], ignored: [] });
  const short = (path: string): string => path.replace(/^mcp\.servers\./, "");
  return {
    servers: value.mcp?.servers,
    becomes: Object.fromEntries(renamed.map(({ path, as }) => [short(path), short(as)])),
    reasons: Object.fromEntries(notTaken.map(({ path, why }) => [short(path), why])),
  };
}

test("servers are taken unchanged, with their comments; unknown keys are reported", () => {
  const { migrate, written, file } = setting(`{
  mcp: {
    sessionIdleTtlMs: 600000,
    servers: {
      // the notes
      files: { command: "npx", args: ["-y", "x"], env: { TOKEN: "\${TOKEN}", DEPTH: 3 }, cwd: "~/n", enabled: false },
      tracker: {
        url: "https://mcp.example/mcp", // inside
        transport: "streamable-http",
        headers: { Authorization: "Bearer SECRET" },
        requestTimeoutMs: 20000,
        connectionTimeoutMs: 5000,
        auth: "oauth",
        sslVerify: false,
        supportsParallelToolCalls: true,
      },
    },
  },
}
`);
  const report = migrate();
  assert.deepEqual(written(), {
    mcp: {
      servers: {
        files: {
          command: "npx",
          args: ["-y", "x"],
          env: { TOKEN: "${TOKEN}", DEPTH: 3 },
          cwd: "~/n",
          enabled: false,
        },
        tracker: {
          url: "https://mcp.example/mcp",
          transport: "streamable-http",
          headers: { Authorization: "Bearer SECRET" },
          requestTimeoutMs: 20_000,
          connectionTimeoutMs: 5_000,
        },
      },
    },
    plugins: { slots: { contextEngine: "legacy" } },
  });
  const text = readFileSync(file, "utf8");
  for (const comment of ["// the notes", "// inside"]) assert.ok(text.includes(comment), comment);
  assert.deepEqual(report.taken, ["mcp.servers.files", "mcp.servers.tracker", "plugins.slots.contextEngine"]);
  assert.deepEqual(
    report.renamed.map(({ path }) => path),
    ["plugins.slots.contextEngine"],
  );
  assert.deepEqual(
    report.notTaken.map(({ path }) => path),
    [
      "mcp.servers.tracker.auth",
      "mcp.servers.tracker.sslVerify",
      "mcp.servers.tracker.supportsParallelToolCalls",
      "mcp.sessionIdleTtlMs",
    ],
  );
  assert.doesNotMatch(JSON.stringify(report), /SECRET/);
});

test("keys with another meaning are converted: seconds, the older transport, filters, switches", () => {
  const { servers, becomes, reasons } = became({
    slow: { command: "x", timeout: 1.5, connect_timeout: 90, disabled: true },
    twice: { command: "x", timeout: 60, requestTimeoutMs: 7, connectTimeout: "long" },
    old: { url: "http://a.example/sse", headers: { depth: 3 } },
    named: { url: "http://a.example", type: "http" },
    few: { command: "x", toolFilter: { include: ["read_*"], exclude: ["read_secret"] } },
  });
  assert.deepEqual(servers, {
    slow: { command: "x", timeoutMs: 1_500, connectTimeoutMs: 90_000, enabled: false },
    twice: { command: "x", requestTimeoutMs: 7 },
    old: { url: "http://a.example/sse", headers: { depth: "3" }, transport: "sse" },
    named: { url: "http://a.example", type: "http" },
    few: { command: "x", tools: { allow: ["read_*"], deny: ["read_secret"] } },
  });
  assert.deepEqual(becomes, {
    "slow.timeout": "slow.timeoutMs = 1500",
    "slow.connect_timeout": "slow.connectTimeoutMs = 90000",
    "slow.disabled": "slow.enabled = false",
    "old.transport": '"sse", the default there',
    "old.headers.depth": "the same as a text",
    "plugins.slots.contextEngine": '"legacy"',
    "few.toolFilter": "few.tools",
    "few.toolFilter.include": "few.tools.allow",
    "few.toolFilter.exclude": "few.tools.deny",
  });
  assert.deepEqual(Object.keys(reasons), ["twice.timeout", "twice.connectTimeout"]);
});

test("a server that cannot be used is left out with its reason, and none of them spoils the others", () => {
  const { servers, reasons } = became({
    neither: { args: ["x"] },
    nothing: {},
    blank: { command: " ", env: { A: "b" } },
    text: "npx",
    ws: { url: "wss://a.example", transport: "ws" },
    both: { command: "x", url: "http://a.example" },
    far: { command: "x", url: "http://a.example", transport: "sse" },
    odd: { command: "x", env: { A: { source: "env", id: "A" } }, toolFilter: "x" },
  });
  assert.deepEqual(servers, {
    both: { command: "x" },
    far: { url: "http://a.example", transport: "sse" },
    odd: { command: "x" },
  });
  for (const path of ["neither", "nothing", "blank", "text", "ws", "both.url", "far.command"])
    assert.ok(Object.hasOwn(reasons, path), path);
  assert.match(reasons["ws"] ?? "", /transport/);
});

test("an existing server of the same name is kept or replaced as a whole", () => {
  const ours = `{ mcp: { servers: { a: { url: "http://here.example" } } } }`;
  const theirs = { mcp: { servers: { a: { command: "x" }, b: { command: "y" } } } };
  const { migrate, written } = setting(theirs, ours);
  const report = migrate();
  assert.deepEqual(report.conflicts, [{ path: "mcp.servers.a", overwritten: false }]);
  assert.deepEqual(report.taken, ["mcp.servers.b"]);
  const b = { command: "y" };
  assert.deepEqual(written(), { mcp: { servers: { a: { url: "http://here.example" }, b } } });
  migrate({ overwrite: true });
  assert.deepEqual(written(), { mcp: { servers: { a: { command: "x" }, b } } });
});
