import { checkConfig } from "../../../packages/core/src/config/config-problems.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { configFromValue } from "../../../packages/core/src/config/load-config.ts";
import type { McpServerConfig } from "../../../packages/core/src/config/config-types.ts";
import { readSettings } from "../../../packages/host/src/mcp/client/mcp-settings.ts";

const ENV = { PATH: "/bin", TOKEN: "tok-123456", SECRET: "s" };

function read(config: McpServerConfig) {
  return readSettings(config, "/home/.pagurus", ENV);
}

test("entries of Claude's and OpenClaw's files are accepted unchanged", () => {
  const servers = {
    claude: { type: "stdio", command: "npx", args: ["-y", "server"], env: { KEY: "${TOKEN}" } },
    web: {
      type: "http",
      url: "https://example.com/${PART:-mcp}",
      headers: { Authorization: "Bearer ${TOKEN}" },
    },
    old: {
      url: "https://example.com/sse",
      transport: "sse",
      connectionTimeoutMs: 5_000,
      requestTimeoutMs: 20_000,
    },
    place: { command: "serve", workingDirectory: "tools", enabled: false },
  };
  const { config, warnings } = configFromValue({ mcp: { servers } }, "/home/.pagurus");
  assert.deepEqual(warnings, []);
  const settings = Object.fromEntries(
    Object.entries(config.mcp?.servers ?? {}).map(([name, server]) => [name, read(server)]),
  );
  assert.deepEqual(settings["claude"], {
    transport: {
      kind: "stdio",
      command: "npx",
      args: ["-y", "server"],
      env: { PATH: "/bin", KEY: "tok-123456" },
      cwd: process.cwd(),
    },
    timeoutMs: 120_000,
    longestCallMs: 1_200_000,
    connectTimeoutMs: 60_000,
    secrets: ["tok-123456"],
  });
  assert.deepEqual(settings["web"]?.transport, {
    oauth: { enabled: true, grant: "authorization_code", algorithm: "ES256" },
    kind: "http",
    url: new URL("https://example.com/mcp"),
    headers: { Authorization: "Bearer tok-123456" },
  });
  assert.equal(settings["old"]?.transport.kind, "sse");
  assert.equal(settings["old"].timeoutMs, 20_000);
  assert.equal(settings["old"].connectTimeoutMs, 5_000);
  const place = settings["place"]?.transport;
  assert.equal(place?.kind === "stdio" ? place.cwd : "", "/home/.pagurus/tools");
});

test("an invalid value is reported with its key", () => {
  const message = (servers: object): string => {
    try {
      configFromValue({ mcp: { servers } }, "/home");
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.match(message({ a: {} }), /mcp\.servers\.a must have either command or url, but has neither/);
  assert.match(
    message({ a: { command: "x", url: "http://y" } }),
    /mcp\.servers\.a must have either command or url, but has both/,
  );
  assert.match(message({ "a b": { command: 1 } }), /mcp\.servers.*command must be a string/);
  assert.match(
    message({ a: { command: "x", env: { K: {} } } }),
    /mcp\.servers\.a\.env\.K must be a string or a number or true or false/,
  );
  assert.match(
    message({ a: { command: "x", permission: "never" } }),
    /permission must be one of "ask", "allow", but is "never"/,
  );
});

test("a variable that is not set and an invalid address are reported", () => {
  assert.throws(() => read({ command: "x", args: ["${GONE}"] }), {
    message: 'cannot be used: its "args[0]" refers to the environment variable GONE, which is not set',
  });
  assert.throws(() => read({ url: "ftp://example.com" }), {
    message: 'cannot be used: its "url" is not an http or https address',
  });
});

test("mcpServers, as other programs name it, is refused by name with the right place", () => {
  const { warnings } = checkConfig({ mcpServers: { a: { command: "x" } } });
  assert.deepEqual(warnings, [
    "mcpServers is not a known key; it is not used. Put its entries into mcp.servers.",
  ]);
});
