/**
 * The configuration's schema. The library is handed in, so that importing this file costs nothing; `types.ts`
 * holds the same shapes for the compiler; a test has the two compared.
 */
import { createRequire } from "node:module";
import type * as zod from "zod";
import { AGENT_ID_PATTERN } from "./paths.ts";

type Zod = typeof zod;

/** Timers hold 31 bits of milliseconds (24.8 days); a longer one would fire at once. */
const LONGEST_SECONDS = 2_000_000;

/**
 * Names the schema in the marker of validated files, so that a file is checked anew by a new schema. A test
 * compares it with the schema; it prints the value to put here.
 */
export const SCHEMA_FINGERPRINT = "10a9120377ec0e68";

function runtimePolicy(z: Zod) {
  return z
    .strictObject({
      id: z.string().min(1).optional().describe("Agent runtime: auto, embedded, codex, or one of a plugin."),
      agentId: z.string().min(1).optional().describe("With acp: the agent, such as claude or codex."),
      fallback: z
        .enum(["none", "embedded"])
        .optional()
        .describe("With auto: what runs a model that no runtime claims."),
    })
    .describe("Which agent runtime executes the turn.");
}

function permission(z: Zod) {
  const rule = z.strictObject({
    tool: z.string().min(1),
    match: z.string().min(1).optional().describe("A command, a prefix with ` *`, or a path glob."),
    cwd: z.string().min(1).optional().describe("Absolute folder the rule is for."),
  });
  return z.strictObject({
    mode: z.enum(["ask", "deny", "auto", "read-only"]).optional(),
    allow: z.array(rule).optional(),
    deny: z.array(rule).optional(),
    shellEnv: z.array(z.string().min(1)).optional().describe("Variables a shell command sees."),
    sandbox: z.enum(["auto", "off", "require"]).optional(),
  });
}

function seconds(z: Zod) {
  return z.number().positive().max(LONGEST_SECONDS);
}

function thinking(z: Zod) {
  return z.enum(["off", "low", "medium", "high"]);
}

function agentShape(z: Zod) {
  return {
    workspace: z.string().min(1).optional().describe("Folder the agent works in."),
    model: z
      .union([z.string().min(1), z.strictObject({ primary: z.string().min(1) })])
      .optional()
      .describe("Model ref, provider/model."),
    models: z
      .record(
        z.string(),
        z.strictObject({ agentRuntime: runtimePolicy(z).optional(), thinking: thinking(z).optional() }),
      )
      .optional()
      .describe("Settings for single model refs."),
    permission: permission(z).optional(),
    thinking: thinking(z).optional(),
    maxSteps: z.int().min(1).optional().describe("Most model calls of one turn."),
    timeoutSeconds: seconds(z).optional().describe("Longest turn, seconds; at most 2,000,000."),
  };
}

function compaction(z: Zod) {
  return z.strictObject({
    owner: z.enum(["engine", "native"]).optional(),
    model: z.string().min(1).optional(),
    keepRecentTokens: z.int().min(0).optional(),
    reserveTokens: z.int().min(0).optional(),
    reserveTokensFloor: z.int().min(0).optional(),
    mode: z.enum(["default", "safeguard"]).optional(),
    timeoutSeconds: seconds(z).optional().describe("Longest compaction, seconds; at most 2,000,000."),
    identifierPolicy: z.enum(["strict", "off"]).optional(),
    customInstructions: z.string().optional(),
    notifyUser: z.boolean().optional(),
  });
}

function costLimits(z: Zod) {
  const dollars = z.number().positive().optional();
  return z
    .strictObject({ turn: dollars, session: dollars, day: dollars })
    .describe("US dollars; a request that would exceed a limit is not sent.");
}

function subagents(z: Zod) {
  return z.strictObject({
    maxSpawnDepth: z.int().min(0).optional().describe("Children of children; 0 turns spawn_agent off."),
    maxConcurrent: z.int().min(1).optional().describe("Children of one session at a time."),
    ttlSeconds: seconds(z).optional().describe("How long a child may live; at most 2,000,000."),
  });
}

/** The one bundled engine with settings; those of plugins are the plugin's affair. */
function lossless(z: Zod) {
  const tokens = z.int().min(1).optional();
  const keys = z.array(z.string().min(1)).optional();
  return z.strictObject({
    trigger: tokens.describe("Tokens of history and live turn at which it compacts."),
    headTokens: tokens.describe("Tokens of the summary with all that belongs to it."),
    tailTokens: tokens.describe("Tokens of newest messages that stay as they are."),
    ignoreSessions: keys.describe("Globs over session keys: nothing is kept beyond the transcript."),
    statelessSessions: keys.describe("Globs over session keys: each turn begins with nothing before it."),
    summariesPerHour: z.int().min(0).optional().describe("Most summaries that a model is asked for."),
    retention: z
      .strictObject({ sessionsOlderThanDays: z.number().positive() })
      .optional()
      .describe("When an unused conversation leaves the database; its transcript stays."),
  });
}

function provider(z: Zod) {
  const model = z.strictObject({
    id: z.string().min(1),
    name: z.string().optional(),
    contextWindow: z.int().min(1).optional().describe("Tokens that input and output share."),
    maxTokens: z.int().min(1).optional().describe("Most output tokens of one call."),
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
      .optional()
      .describe("US dollars for a million tokens."),
    agentRuntime: runtimePolicy(z).optional(),
  });
  return z.strictObject({
    api: z
      .enum(["openai-responses", "openai-completions", "anthropic-messages", "google-generative-ai"])
      .optional(),
    baseUrl: z.url({ protocol: /^https?$/ }).optional(),
    apiKey: z
      .union([z.string(), z.strictObject({ file: z.string().min(1) })])
      .optional()
      .describe("A key, ${ENV}, or {file: path}."),
    headers: z.record(z.string(), z.string()).optional(),
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
  return z.strictObject({
    command: text.describe("Program to start."),
    args: z.array(z.string()).optional(),
    env: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .optional()
      .describe("Variables of the program; ${ENV} is put in."),
    cwd: text,
    workingDirectory: text,
    url: text.describe("Address of a server that runs already."),
    headers: z.record(z.string(), z.string()).optional().describe("${ENV} is put in."),
    type: transport,
    transport,
    enabled: z.boolean().optional(),
    timeoutMs: milliseconds.describe("Longest that a call waits for an answer or a sign of progress."),
    requestTimeoutMs: milliseconds,
    timeout: milliseconds,
    connectTimeoutMs: milliseconds.describe("Longest that a start may take."),
    connectionTimeoutMs: milliseconds,
    permission: z.enum(["ask", "allow"]).optional(),
    tools: z.strictObject({ allow: names, deny: names }).optional(),
  });
}

function gateway(z: Zod) {
  const limits = z.strictObject({
    maxBytes: z.int().min(1).optional().describe("Bytes of all captures together; the oldest go."),
    keep: z.int().min(1).optional().describe("Newest requests of each session that stay."),
  });
  return z
    .strictObject({
      capture: z
        .union([z.boolean(), limits])
        .optional()
        .describe("Keeps each model request and its answer on the disk."),
    })
    .describe("The model gateway.");
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
            maxCost: costLimits(z).optional(),
            subagents: subagents(z).optional(),
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
          .catchall(z.strictObject({ enabled: z.boolean().optional(), config: z.unknown().optional() }))
          .optional(),
        load: z.strictObject({ paths: z.array(z.string().min(1)).optional() }).optional(),
        allow: z.array(z.string().min(1)).optional().describe("Ids of the only plugins that are loaded."),
        deny: z.array(z.string().min(1)).optional().describe("Ids of plugins that are never loaded."),
      })
      .optional(),
    memory: z.strictObject({ citations: z.enum(["auto", "on", "off"]).optional() }).optional(),
    mcp: z
      .strictObject({ servers: z.record(z.string().min(1), mcpServer(z)).optional() })
      .optional()
      .describe("MCP servers whose tools the agent has."),
    skills: z
      .strictObject({
        paths: z.array(z.string().min(1)).optional().describe("Further folders of skills, or of one skill."),
        entries: z.record(z.string(), z.strictObject({ enabled: z.boolean().optional() })).optional(),
      })
      .optional(),
    gateway: gateway(z).optional(),
    logging: z
      .strictObject({ level: z.enum(["debug", "info", "warn", "error", "silent"]).optional() })
      .optional(),
  });
}

/** The schema, ready to parse with. Loads the schema library (70 ms). Keys it does not know are issues. */
export function configSchema(): ReturnType<typeof buildSchema> {
  const require = createRequire(import.meta.url);
  return buildSchema(require("zod") as Zod);
}

/** JSON Schema (draft 2020-12) of the configuration file, for editors and `pagurus config schema`. */
export function configJsonSchema(): Record<string, unknown> {
  const require = createRequire(import.meta.url);
  const z = require("zod") as Zod;
  const schema = z.toJSONSchema(buildSchema(z), {
    io: "input",
    override({ jsonSchema }) {
      // Keys that are not known warn and stay: an editor must not mark them as errors either.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return { title: "Pagurus configuration", ...schema };
}
