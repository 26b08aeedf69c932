/** The parts of the configuration's schema about connections of the host: MCP servers, its own server, channels, the store, a collector. */
import { LONGEST_SECONDS, seconds } from "./agent-schema.ts";
import { channel } from "./channel-schema.ts";
import { key, requiredKey } from "./described-key.ts";
import type { Zod } from "./load-schema-library.ts";

function mcpOAuth(z: Zod) {
  const text = z.string().min(1);
  return z.strictObject({
    clientId: key(text, "id of a client that was registered before", "one is registered"),
    clientSecret: key(text, "its secret, as `${NAME}`"),
    scope: key(text, "permissions to ask for besides those that the server names, separated by spaces"),
    grant: key(
      z.enum(["authorization_code", "client_credentials"]),
      "`authorization_code`: a person agrees in a browser; `client_credentials`: the client's own secret or key",
      "`authorization_code`",
    ),
    issuer: key(
      z.url({ protocol: /^https?$/ }),
      "the authorization server of the client; another one gets nothing",
    ),
    clientMetadataUrl: key(
      z.url({ protocol: /^https$/ }),
      "https address of the client's metadata, used as its id",
    ),
    callbackPort: key(z.int().min(1).max(65_535), "port on 127.0.0.1 that the browser returns to", "any"),
    privateKey: z
      .strictObject({
        file: requiredKey(z.string().min(1), "PEM file of the client's key, instead of a secret"),
      })
      .optional(),
    algorithm: key(text, "algorithm of that key", "`ES256`"),
  });
}

export function mcpServer(z: Zod) {
  const text = z.string().min(1);
  const milliseconds = z
    .int()
    .min(1)
    .max(LONGEST_SECONDS * 1_000);
  const transport = z.enum(["stdio", "http", "streamable-http", "sse"]);
  const names = z.array(z.string().min(1));
  return z.strictObject({
    command: key(text, "program to start"),
    args: key(z.array(z.string()), "arguments of the program"),
    env: key(
      z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
      "variables of the program besides `PATH`, `HOME` and the like",
    ),
    cwd: key(text, "folder that it starts in; a relative one begins at `~/.pagurus`", "where Pagurus runs"),
    workingDirectory: key(text, "the same as `cwd`"),
    url: key(text, "address of a server that runs already"),
    headers: key(z.record(z.string(), z.string()), "headers that are sent with each request"),
    oauth: key(
      z.union([z.literal(false), mcpOAuth(z)]),
      "settings of `pagurus mcp login`; `false`: no login",
      "as the server describes it",
    ),
    type: key(
      transport,
      "`stdio`; `http` or `streamable-http`; `sse`, the older transport",
      "as `command`, `url` say",
    ),
    transport: key(transport, "the same as `type`"),
    enabled: key(z.boolean(), "whether its tools are offered", "`true`"),
    disabled: key(z.boolean(), "`true`: the same as `enabled: false`, which it overrides", "`false`"),
    timeoutMs: key(
      milliseconds,
      "timeout of a call without an answer or progress; the first key that is set",
      "120000",
    ),
    requestTimeoutMs: key(milliseconds, "the same as `timeoutMs`, where that is absent"),
    timeout: key(milliseconds, "the same as `timeoutMs`, where the others are absent"),
    longestCallMs: key(
      milliseconds,
      "timeout of a call that keeps reporting progress; at least `timeoutMs`",
      "ten times `timeoutMs`",
    ),
    connectTimeoutMs: key(milliseconds, "timeout of a start", "60000"),
    connectionTimeoutMs: key(milliseconds, "the same as `connectTimeoutMs`, where that is absent"),
    permission: key(
      z.enum(["ask", "allow"]),
      "`ask`: as the permission mode decides; `allow`: its tools run without a question, as with an `allow` rule for each",
      "`ask`",
    ),
    tools: z
      .strictObject({
        allow: key(names, "names of its tools, `*` matches any characters; `deny` wins", "all"),
        deny: key(names, "names of its tools, `*` matches any characters; `deny` wins", "all"),
      })
      .optional(),
    includeTools: key(names, "the same as `tools.allow`, where that is absent (Gemini CLI)"),
    enabled_tools: key(names, "the same as `tools.allow`, where that is absent (Codex)"),
    excludeTools: key(names, "added to `tools.deny` (Gemini CLI)"),
    disabled_tools: key(names, "added to `tools.deny` (Codex)"),
    disabledTools: key(names, "added to `tools.deny` (Roo Code)"),
  });
}

/** The database of the store, where one is used. */
function storeSchema(z: Zod) {
  return z.strictObject({
    kind: key(
      z.enum(["files", "postgres"]),
      "`files`: sessions are in the home folder; `postgres`: in a database that several hosts share",
      "`files`",
    ),
    url: key(
      z.string().min(1),
      "address of the PostgreSQL, with the TLS options of libpq: `postgres://user@host:5432/database?sslmode=verify-full`, or `${VARIABLE}`",
    ),
    schema: key(
      z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/),
      "schema of the tables in the database",
      "`pagurus`",
    ),
    lease: key(
      seconds(z).min(0.5),
      "seconds after which another host may take over a session whose host has ended or does not answer",
      "10",
    ),
  });
}

function captures(z: Zod) {
  const count = z.int().min(1);
  return z.strictObject({
    maxBytes: key(count, "bytes of all captures together; the oldest are deleted", "268435456"),
    keep: key(count, "number of newest requests kept per session", "all of them"),
  });
}

function server(z: Zod) {
  const names = z.array(z.string().min(1));
  const name = z.string().min(1);
  return z.strictObject({
    port: key(z.int().min(0).max(65_535), "port of `pagurus serve`; 0: any free one", "7117"),
    host: key(name, "address it listens on; another than the loopback needs a token", "127.0.0.1"),
    maxTurns: key(z.int().min(1).max(1_000), "sessions that may work at once", "16"),
    maxBodyBytes: key(z.int().min(65_536).max(268_435_456), "longest body of a request, bytes", "33554432"),
    maxBytesInFlight: key(
      z.int().min(65_536),
      "bytes of all bodies of requests that are being answered",
      "134217728",
    ),
    maxRequests: key(
      z.int().min(1).max(4_096),
      "requests of one token that are open at once, besides event streams",
      "256",
    ),
    maxLiveSessions: key(
      z.int().min(1).max(10_000),
      "sessions of the model API whose state is kept in memory, those that were used last",
      "200",
    ),
    questionSeconds: key(
      seconds(z),
      "seconds for which a permission question to a client of the model API waits; then it is denied",
      "300",
    ),
    resident: key(
      z.boolean(),
      "whether a host stays in the background after the first command and runs the next ones (`run`, `status`, `sessions list`), over a socket of this user alone",
      "`false`",
    ),
    residentIdleSeconds: key(seconds(z), "seconds without a command after which it ends", "1800"),
    allowedHosts: key(names, "host names that requests may have, besides those of the loopback"),
    allowedOrigins: key(names, "origins of other sites' pages that may call the server", "none"),
  });
}

function collector(z: Zod) {
  return z.strictObject({
    endpoint: requiredKey(
      z.url({ protocol: /^https?$/ }),
      "address of an OpenTelemetry collector for OTLP over HTTP, which gets a span for each turn, model call and tool call",
      "none",
    ),
    headers: key(z.record(z.string().min(1), z.string()), "headers that are sent with each export"),
    contents: key(z.boolean(), "whether answers, and arguments and results of tools, are sent too", "false"),
  });
}

/** Connections of the host: its servers, its channels, its collector. */
export function connections(z: Zod) {
  const names = z.array(z.string().min(1));
  return {
    gateway: z
      .strictObject({
        capture: key(
          z.union([z.boolean(), captures(z)]),
          "whether each model request of the host and of the model gateway is kept on the disk, for the inspector: `true`, `false`, or `{maxBytes, keep}`, which bounds it",
          "`true`",
        ),
      })
      .optional(),
    keeper: z
      .strictObject({
        enabled: key(
          z.boolean(),
          "whether the resident host (`server.resident`) keeps [what other agents write](guides/keeper.md), as `pagurus keep` does",
          "`false`; `pagurus setup` asks",
        ),
      })
      .optional(),
    checkpoints: z
      .strictObject({
        enabled: key(
          z.boolean(),
          "whether turns keep [the files of their folder](guides/undo.md) as they were, so that `/undo` restores them",
          "`true` in trusted folders",
        ),
        maxBytes: key(
          z.int().min(1),
          "bytes that the checkpoints of one folder may take; the oldest are removed beyond it, except the last 10",
          "1073741824",
        ),
        keepDays: key(z.int().min(1), "days that a checkpoint is kept, except the last 10", "30"),
      })
      .optional(),
    wire: z
      .strictObject({
        ownLogin: key(
          z.boolean(),
          "whether programs of `pagurus wire` may use their own login by subscription, as with `--login`; the terms of most providers allow it to their own programs alone",
          "`false`",
        ),
        loginHosts: key(
          names,
          "hosts besides its maker's own that may get a program's login by subscription, for example `gateway.example.org` or `127.0.0.1:8080`",
          "none",
        ),
      })
      .optional(),
    trust: z
      .strictObject({
        folders: key(
          names,
          "folders that are trusted without a question, for example `~/work/*`; `*` matches one name, `**` any number of them; a repository counts by its root",
          "none",
        ),
      })
      .optional(),
    server: server(z).optional(),
    channels: z.record(z.string().min(1), channel(z)).optional(),
    store: storeSchema(z).optional(),
    telemetry: z.strictObject({ otlp: collector(z).optional() }).optional(),
  };
}
