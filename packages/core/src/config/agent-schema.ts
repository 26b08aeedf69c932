/** The parts of the configuration's schema about agents and their turns. */
import type { Zod } from "./load-schema-library.ts";
import { ALIAS_PATTERN } from "./model-aliases.ts";

/** Timers have 31 bits of milliseconds (24.8 days); a longer one would fire at once. */
export const LONGEST_SECONDS = 2_000_000;

const THINKING = ["off", "low", "medium", "high"] as const;

export function runtimePolicy(z: Zod) {
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
    definition: z.string().min(1).optional().describe("Hash of the tool's definition that was allowed."),
  });
  return z.strictObject({
    mode: z.enum(["ask", "deny", "auto", "read-only"]).optional(),
    allow: z.array(rule).optional(),
    deny: z.array(rule).optional(),
    shellEnv: z.array(z.string().min(1)).optional().describe("Variables a shell command sees."),
    sandbox: z.enum(["auto", "off", "require"]).optional(),
    network: z.enum(["on", "off"]).optional().describe("The network of shell commands in the sandbox."),
    unmask: z
      .array(z.string().min(1))
      .optional()
      .describe("Where keys lie, such as ~/.npmrc, and commands see them all the same."),
  });
}

export function seconds(z: Zod) {
  return z.number().positive().max(LONGEST_SECONDS);
}

/** Time with its unit, such as `30m`; `data/interval.ts` reads it. */
function interval(z: Zod) {
  return z.string().regex(/^\d+(s|m|h|d)$/);
}

function surfaceTools(z: Zod) {
  const name = z.string().min(1).optional();
  return z.strictObject({ images: name, speech: name, voice: name, transcription: name });
}

export function agentShape(z: Zod) {
  const clock = z.string().regex(/^([01]\d|2[0-4]):[0-5]\d$/);
  const heartbeat = z.strictObject({
    every: interval(z).optional(),
    activeHours: z
      .strictObject({ start: clock, end: clock, timezone: z.string().min(1).optional() })
      .optional(),
    prompt: z.string().min(1).optional(),
    session: z.string().min(1).optional(),
    model: z.string().min(1).optional(),
  });
  return {
    heartbeat: heartbeat.optional(),
    workspace: z.string().min(1).optional(),
    model: z
      .union([
        z.string().min(1),
        z.strictObject({
          primary: z.string().min(1),
          fallbacks: z
            .array(z.string().min(1))
            .optional()
            .describe("Models that take over when the primary fails, in order."),
        }),
      ])
      .optional(),
    models: z
      .record(
        z.string(),
        z.strictObject({
          agentRuntime: runtimePolicy(z).optional(),
          thinking: z.enum(THINKING).optional(),
          alias: z
            .string()
            .regex(ALIAS_PATTERN)
            .optional()
            .describe("A name for the model, usable wherever a model is named."),
        }),
      )
      .optional(),
    surfaces: surfaceTools(z).optional(),
    permission: permission(z).optional(),
    thinking: z.enum(THINKING).optional(),
    maxSteps: z.int().min(1).optional(),
    timeoutSeconds: seconds(z).optional(),
  };
}

export function compaction(z: Zod) {
  return z.strictObject({
    owner: z.enum(["engine", "native"]).optional(),
    model: z.string().min(1).optional(),
    keepRecentTokens: z.int().min(0).optional(),
    reserveTokens: z.int().min(0).optional(),
    reserveTokensFloor: z.int().min(0).optional(),
    mode: z.enum(["default", "safeguard"]).optional(),
    timeoutSeconds: seconds(z).optional(),
    identifierPolicy: z.enum(["strict", "off"]).optional(),
    customInstructions: z.string().optional(),
    notifyUser: z.boolean().optional(),
  });
}

export function contextPruning(z: Zod) {
  const names = z.array(z.string().min(1)).optional();
  return z.strictObject({
    mode: z.enum(["off", "cache-ttl"]).optional(),
    ttl: interval(z).optional(),
    tools: z.strictObject({ allow: names, deny: names }).optional(),
    hardClear: z
      .strictObject({ enabled: z.boolean().optional(), placeholder: z.string().min(1).optional() })
      .optional(),
  });
}

/** Limits of turns, which all agents share. */
export function limits(z: Zod) {
  const dollars = z.number().positive().optional();
  const bytes = z.int().min(1).optional();
  return {
    maxCost: z.strictObject({ turn: dollars, session: dollars, day: dollars }).optional(),
    retry: z
      .strictObject({ maxElapsedSeconds: seconds(z).optional(), maxDelaySeconds: seconds(z).optional() })
      .optional(),
    answerLimits: z
      .strictObject({
        bytes,
        eventBytes: bytes,
        silenceSeconds: seconds(z).optional(),
        idleSeconds: seconds(z).optional(),
      })
      .optional(),
    subagents: z
      .strictObject({
        maxSpawnDepth: z.int().min(0).optional(),
        maxConcurrent: z.int().min(1).optional(),
        ttlSeconds: seconds(z).optional(),
      })
      .optional(),
  };
}
