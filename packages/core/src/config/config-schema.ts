/**
 * The configuration's schema. The library is passed in, so that importing this file costs nothing; `types.ts` has the same
 * types for the compiler; a test compares the two.
 */
import { createRequire } from "node:module";
import type * as zod from "zod";
import { schemaLibrary, type Zod } from "./load-schema-library.ts";
import { describeKeys } from "./describe-keys.ts";
import {
  agentShape,
  compaction,
  contextPruning,
  limits,
  LONGEST_SECONDS,
  runtimePolicy,
  seconds,
} from "./agent-schema.ts";
import { AGENT_ID_PATTERN } from "./config-paths.ts";

/**
 * Identifies the schema in the marker of validated files, so that a new schema checks a file again. A test compares it with the
 * schema and prints the new value.
 */
export const SCHEMA_FINGERPRINT = "7039810efbc32e97";

/** The only bundled engine with settings; plugins check their own. */
function lossless(z: Zod) {
  const tokens = z.int().min(1).optional();
  const keys = z.array(z.string().min(1)).optional();
  return z.strictObject({
    trigger: tokens,
    headTokens: tokens,
    tailTokens: tokens,
    ignoreSessions: keys,
    statelessSessions: keys,
    summariesPerHour: z.int().min(0).optional(),
    recall: z.boolean().optional(),
    encoder: z.boolean().optional(),
    retention: z.strictObject({ sessionsOlderThanDays: z.number().positive() }).optional(),
  });
}

function provider(z: Zod) {
  const model = z.strictObject({
    id: z.string().min(1),
    name: z.string().optional(),
    contextWindow: z.int().min(1).optional(),
    maxTokens: z.int().min(1).optional(),
    reasoning: z.boolean().optional(),
    input: z.array(z.enum(["text", "image"])).optional(),
    promptCache: z.enum(["none", "automatic", "marks"]).optional(),
    truncatesSilently: z.boolean().optional(),
    cost: z
      .strictObject({
        input: z.number().min(0),
        output: z.number().min(0),
        cacheRead: z.number().min(0).optional(),
        cacheWrite: z.number().min(0).optional(),
      })
      .optional(),
    surfaces: z.array(z.enum(["embeddings", "images", "speech", "transcription"])).optional(),
    unitCost: z
      .strictObject({
        request: z.number().min(0).optional(),
        image: z.number().min(0).optional(),
        minute: z.number().min(0).optional(),
        millionCharacters: z.number().min(0).optional(),
      })
      .optional(),
    agentRuntime: runtimePolicy(z).optional(),
  });
  return z.strictObject({
    api: z
      .enum(["openai-responses", "openai-completions", "anthropic-messages", "google-generative-ai"])
      .optional(),
    baseUrl: z.url({ protocol: /^https?$/ }).optional(),
    apiKey: z.union([z.string(), z.strictObject({ file: z.string().min(1) })]).optional(),
    headers: z.record(z.string(), z.string()).optional(),
    cacheDiagnostics: z.boolean().optional(),
    models: z.array(model).optional(),
    agentRuntime: runtimePolicy(z).optional(),
  });
}

function mcpServer(z: Zod) {
  const text = z.string().min(1).optional();
  const milliseconds = z
    .int()
    .min(1)
    .max(LONGEST_SECONDS * 1_000)
    .optional();
  const transport = z.enum(["stdio", "http", "streamable-http", "sse"]).optional();
  const names = z.array(z.string().min(1)).optional();
  const oauth = z.strictObject({
    clientId: text,
    clientSecret: text,
    scope: text,
    grant: z.enum(["authorization_code", "client_credentials"]).optional(),
    issuer: z.url({ protocol: /^https?$/ }).optional(),
    clientMetadataUrl: z.url({ protocol: /^https$/ }).optional(),
    callbackPort: z.int().min(1).max(65_535).optional(),
    privateKey: z.strictObject({ file: z.string().min(1) }).optional(),
    algorithm: text,
  });
  return z.strictObject({
    command: text,
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
    cwd: text,
    workingDirectory: text,
    url: text,
    headers: z.record(z.string(), z.string()).optional(),
    oauth: z.union([z.literal(false), oauth]).optional(),
    type: transport,
    transport,
    enabled: z.boolean().optional(),
    disabled: z.boolean().optional(),
    timeoutMs: milliseconds,
    requestTimeoutMs: milliseconds,
    timeout: milliseconds,
    longestCallMs: milliseconds,
    connectTimeoutMs: milliseconds,
    connectionTimeoutMs: milliseconds,
    permission: z.enum(["ask", "allow"]).optional(),
    tools: z.strictObject({ allow: names, deny: names }).optional(),
    includeTools: names,
    enabled_tools: names,
    excludeTools: names,
    disabled_tools: names,
    disabledTools: names,
  });
}

/** The database of the store, where one is used. */
function storeSchema(z: Zod) {
  return z.strictObject({
    kind: z.enum(["files", "postgres"]).optional(),
    url: z.string().min(1).optional(),
    schema: z
      .string()
      .regex(/^[a-z_][a-z0-9_]{0,62}$/)
      .optional(),
    lease: seconds(z).min(0.5).optional(),
  });
}

/** Connections of the host: its servers, its channels, its collector. */
function connections(z: Zod) {
  const names = z.array(z.string().min(1)).optional();
  const name = z.string().min(1).optional();
  const count = z.int().min(1).optional();
  const captures = z.strictObject({ maxBytes: count, keep: count });
  const server = z.strictObject({
    port: z.int().min(0).max(65_535).optional(),
    host: name,
    maxTurns: z.int().min(1).max(1_000).optional(),
    maxBodyBytes: z.int().min(65_536).max(268_435_456).optional(),
    maxBytesInFlight: z.int().min(65_536).optional(),
    maxRequests: z.int().min(1).max(4_096).optional(),
    maxLiveSessions: z.int().min(1).max(10_000).optional(),
    questionSeconds: seconds(z).optional(),
    allowedHosts: names,
    allowedOrigins: names,
  });
  const group = z.strictObject({
    answer: z.enum(["mention", "always"]).optional(),
    from: z.enum(["known", "all"]).optional(),
    session: name,
  });
  const channel = z.strictObject({
    kind: name,
    enabled: z.boolean().optional(),
    agent: name,
    session: name,
    scope: z.enum(["group", "peer"]).optional(),
    groups: z.record(z.string().min(1), group).optional(),
    workspace: name,
    permission: z.enum(["ask", "deny", "auto", "read-only"]).optional(),
    allow: names,
    jid: name,
    nick: name,
    password: name,
    service: z.url({ protocol: /^(?:xmpps?|ircs?)$/ }).optional(),
    token: name,
    secret: name,
    url: z.url({ protocol: /^https?$/ }).optional(),
    account: name,
    serverPassword: name,
    join: names,
    linesPerSecond: z.number().min(0.1).max(100).optional(),
    pollSeconds: z.int().min(1).max(3_600).optional(),
    settings: z.record(z.string(), z.unknown()).optional(),
    address: name,
    user: name,
    imap: z.url({ protocol: /^imaps?$/ }).optional(),
    smtp: z.url({ protocol: /^smtps?$/ }).optional(),
    authserv: name,
    authservHops: z.int().min(0).max(20).optional(),
    unverified: z.enum(["drop", "stranger", "trust"]).optional(),
    maxBytes: z.int().min(10_000).max(100_000_000).optional(),
    answersPerHour: count,
    waitingPerPerson: count,
    waitingPerSession: count,
    lookupSeconds: z.int().min(1).max(3_600).optional(),
  });
  const otlp = z.strictObject({
    endpoint: z.url({ protocol: /^https?$/ }),
    headers: z.record(z.string().min(1), z.string()).optional(),
    contents: z.boolean().optional(),
  });
  return {
    gateway: z.strictObject({ capture: z.union([z.boolean(), captures]).optional() }).optional(),
    wire: z.strictObject({ ownLogin: z.boolean().optional(), loginHosts: names }).optional(),
    trust: z.strictObject({ folders: names }).optional(),
    server: server.optional(),
    channels: z.record(z.string().min(1), channel).optional(),
    store: storeSchema(z).optional(),
    telemetry: z.strictObject({ otlp: otlp.optional() }).optional(),
  };
}

function buildSchema(z: Zod) {
  return z.strictObject({
    agents: z
      .strictObject({
        defaults: z
          .strictObject({
            ...agentShape(z),
            compaction: compaction(z).optional(),
            toolResultMaxChars: z.int().min(1).optional(),
            contextPruning: contextPruning(z).optional(),
            engineDeadlines: z
              .strictObject({
                factory: seconds(z).optional(),
                bootstrap: seconds(z).optional(),
                assemble: seconds(z).optional(),
                compact: seconds(z).optional(),
                settle: seconds(z).optional(),
                maintain: seconds(z).optional(),
                dispose: seconds(z).optional(),
              })
              .optional(),
            ...limits(z),
          })
          .optional(),
        list: z
          .array(
            z.strictObject({
              id: z.string().regex(AGENT_ID_PATTERN),
              ...agentShape(z),
            }),
          )
          .optional(),
      })
      .optional(),
    models: z.strictObject({ providers: z.record(z.string(), provider(z)).optional() }).optional(),
    plugins: z
      .strictObject({
        slots: z
          .strictObject({ contextEngine: z.string().min(1).optional(), memory: z.string().min(1).optional() })
          .optional(),
        entries: z
          .object({
            lossless: z
              .strictObject({ enabled: z.boolean().optional(), config: lossless(z).optional() })
              .optional(),
          })
          .catchall(
            z.strictObject({
              enabled: z.boolean().optional(),
              required: z.boolean().optional(),
              config: z.unknown().optional(),
            }),
          )
          .optional(),
        load: z.strictObject({ paths: z.array(z.string().min(1)).optional() }).optional(),
        allow: z.array(z.string().min(1)).optional(),
        deny: z.array(z.string().min(1)).optional(),
      })
      .optional(),
    memory: z.strictObject({ citations: z.enum(["auto", "on", "off"]).optional() }).optional(),
    mcp: z.strictObject({ servers: z.record(z.string().min(1), mcpServer(z)).optional() }).optional(),
    skills: z
      .strictObject({
        paths: z.array(z.string().min(1)).optional(),
        entries: z.record(z.string(), z.strictObject({ enabled: z.boolean().optional() })).optional(),
      })
      .optional(),
    ...connections(z),
    session: z
      .strictObject({ scope: z.enum(["folder", "main", "per-sender", "global"]).optional() })
      .optional(),
    logging: z
      .strictObject({ level: z.enum(["debug", "info", "warn", "error", "silent"]).optional() })
      .optional(),
  });
}

let built: ReturnType<typeof buildSchema> | undefined;

/** The schema, ready to parse with. Loads the schema library, once. Keys it does not know are issues. */
export function configSchema(): ReturnType<typeof buildSchema> {
  return (built ??= buildSchema(schemaLibrary()));
}

/** JSON Schema (draft 2020-12) of the configuration file, for editors and `pagurus config schema`. */
export function configJsonSchema(): Record<string, unknown> {
  const z = createRequire(import.meta.url)("zod") as typeof zod;
  const schema = z.toJSONSchema(buildSchema(z), {
    io: "input",
    override({ jsonSchema }) {
      // Unknown keys only cause a warning: an editor must not mark them as errors either.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return describeKeys({ title: "Pagurus configuration", ...schema });
}
