/** The parts of the configuration's schema about agents and their turns. */
import { DEFAULT_PERMISSION_MODE, PERMISSION_MODES } from "@pagurus/contract/host/permission-modes";
import { key, requiredKey } from "./described-key.ts";
import type { Zod } from "./load-schema-library.ts";

/** Timers have 31 bits of milliseconds (24.8 days); a longer one would fire at once. */
export const LONGEST_SECONDS = 2_000_000;

/** Pattern of a model's alias; a slash would make it look like a model ref. */
const ALIAS_PATTERN = /^[^/\s][^/]*$/;
const THINKING = ["off", "low", "medium", "high"] as const;

export function runtimePolicy(z: Zod) {
  return z
    .strictObject({
      id: z
        .string()
        .min(1)
        .optional()
        .describe("agent runtime: `auto`, `embedded`, `codex`, or one of a plugin"),
      agentId: z.string().min(1).optional().describe("with `acp`: the agent, such as `claude` or `codex`"),
      fallback: z
        .enum(["none", "embedded"])
        .optional()
        .describe("with `auto`: what runs a model that no runtime claims"),
    })
    .describe("which agent runtime executes the turn: `{id, agentId, fallback}`");
}

function permission(z: Zod) {
  const rule = z.strictObject({
    tool: z.string().min(1),
    match: z.string().min(1).optional().describe("a command, a prefix with ` *`, or a path glob"),
    cwd: z.string().min(1).optional().describe("absolute folder that the rule is for"),
    definition: z.string().min(1).optional().describe("hash of the tool's definition that was allowed"),
  });
  return z.strictObject({
    mode: key(
      z.enum(PERMISSION_MODES),
      "`sandbox` (asks for what would leave the sandbox; without one it is `ask`), `ask`, `deny`, `auto` (everything but writing outside of the workspace and reading keys), `read-only`; without a terminal a question is a no",
      `\`${DEFAULT_PERMISSION_MODE}\``,
    ),
    allow: key(z.array(rule), "rules `{tool, match, cwd, definition}`; `deny` overrides everything"),
    deny: key(z.array(rule), "rules `{tool, match, cwd}`; `deny` overrides everything"),
    shellEnv: key(
      z.array(z.string().min(1)),
      "variables that shell commands and agents see besides `PATH`, `HOME`, `LANG` and the like; a final `*` makes a prefix",
    ),
    sandbox: key(
      z.enum(["auto", "off", "require"]),
      "`auto`, `off`, `require` (no shell without one)",
      "`auto`",
    ),
    network: key(
      z.enum(["on", "off"]),
      "`on`, `off`: the network of commands in the sandbox; `off` refuses them without a sandbox",
      "`on`; in the mode `sandbox` a command has it after a question",
    ),
    unmask: key(
      z.array(z.string().min(1)),
      "files and folders outside the workspace, such as `~/.npmrc`, that commands and reading tools may see besides",
    ),
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
  const name = z.string().min(1);
  return z.strictObject({
    images: key(name, "ref of the model of the tool `generate_image`", "no such tool"),
    speech: key(name, "ref of the model of the tool `speak`", "no such tool"),
    voice: key(name, "voice of `speak`", "`alloy`"),
    transcription: key(name, "ref of the model of the tool `transcribe_audio`", "no such tool"),
  });
}

export function agentShape(z: Zod) {
  const clock = z.string().regex(/^([01]\d|2[0-4]):[0-5]\d$/);
  const heartbeat = z.strictObject({
    every: key(interval(z), "interval of heartbeats of `pagurus serve`; `0m`: none", "`30m`"),
    activeHours: key(
      z.strictObject({ start: clock, end: clock, timezone: z.string().min(1).optional() }),
      "hours of a day in which they run: `{start, end, timezone}`, such as `08:00` and `22:00`",
      "all day, in the machine's time zone",
    ),
    prompt: key(
      z.string().min(1),
      "their prompt",
      "look for work that is due, and answer `HEARTBEAT_OK` if there is none",
    ),
    session: key(z.string().min(1), "key of their session", "`main`"),
    model: key(z.string().min(1), "model ref", "the agent's"),
  });
  return {
    heartbeat: key(heartbeat, "see below", "none"),
    workspace: key(
      z.string().min(1),
      "folder that the agent works in; `--cwd` overrides it, and so does a current folder that is part of a project (a git repository, or an `AGENTS.md` or `CLAUDE.md` in it or above it); `~` is your home folder",
      "the current folder",
    ),
    model: key(
      z.union([
        z.string().min(1),
        z.strictObject({
          primary: requiredKey(z.string().min(1), "model ref or alias"),
          fallbacks: key(
            z.array(z.string().min(1)),
            "[models that take over](guides/fallbacks.md) when the primary fails, in order; for turns in the runtime `embedded`",
            "none",
          ),
        }),
      ]),
      "model ref or alias, or `{primary, fallbacks}`; an agent's own replaces it with its fallbacks",
      "the first one found",
    ),
    models: key(
      z.record(
        z.string(),
        z.strictObject({
          agentRuntime: runtimePolicy(z).optional(),
          thinking: z.enum(THINKING).optional(),
          alias: z
            .string()
            .regex(ALIAS_PATTERN)
            .optional()
            .describe("a name for the model, usable wherever a model is named"),
        }),
      ),
      "settings by model ref: `{agentRuntime, thinking, alias}`",
    ),
    surfaces: key(surfaceTools(z), "models of the [tools for images and sound](guides/surfaces.md)", "none"),
    permission: key(permission(z), "see below"),
    thinking: key(z.enum(THINKING), "`off`, `low`, `medium`, `high`", "the model's own"),
    maxSteps: key(z.int().min(1), "maximum model calls of one turn", "200"),
    timeoutSeconds: key(seconds(z), "longest turn", "3600"),
  };
}

export function compaction(z: Zod) {
  return z.strictObject({
    owner: key(
      z.enum(["engine", "native"]),
      "`engine` or `native`: who compacts, if the runtime could too",
      "`engine`",
    ),
    model: key(z.string().min(1), "ref of the model that writes summaries", "the session's"),
    keepRecentTokens: key(z.int().min(0), "newest tokens that stay verbatim", "20000"),
    reserveTokens: key(z.int().min(0), "tokens reserved for the answer", "16384"),
    reserveTokensFloor: key(
      z.int().min(0),
      "minimum reserve; 0 where the engine owns or intercepts compaction",
      "20000",
    ),
    mode: key(
      z.enum(["default", "safeguard"]),
      "`default`; `safeguard`: a summary that lacks a required part or an identifier is written again, then refused",
      "`default`",
    ),
    timeoutSeconds: key(seconds(z), "longest compaction", "180"),
    identifierPolicy: key(
      z.enum(["strict", "off"]),
      "`strict`: a summary keeps every exact identifier (paths, ids, symbols) that it can; `off`: they are not collected",
      "`strict`",
    ),
    customInstructions: key(z.string(), "instructions for summaries"),
    notifyUser: key(
      z.boolean(),
      "whether a line is shown before and after a compaction; a failed one is always shown",
      "`true`",
    ),
  });
}

export function contextPruning(z: Zod) {
  const names = z.array(z.string().min(1)).optional();
  return z.strictObject({
    mode: key(
      z.enum(["off", "cache-ttl"]),
      "`cache-ttl`: [old tool results](architecture/compaction.md#old-tool-results) are shortened in what is sent, at a pause; `off`: never",
      "`cache-ttl`",
    ),
    ttl: key(
      interval(z),
      "the pause before a message of yours, such as `30m`, after which the provider's cache has expired; `0m`: each turn",
      "`1h`",
    ),
    tools: key(
      z.strictObject({ allow: names, deny: names }),
      "tools whose results age, `{allow, deny}`: lists of names, `*` matches any characters; `deny` wins",
      "all",
    ),
    hardClear: key(
      z.strictObject({ enabled: z.boolean().optional(), placeholder: z.string().min(1).optional() }),
      "the oldest results in a context that is still more than half of the window: `{enabled, placeholder}`",
      "`true`, a line that names the entry",
    ),
  });
}

/** Limits of turns, which all agents share. */
export function limits(z: Zod) {
  const dollars = z.number().positive().optional();
  const bytes = z.int().min(1).optional();
  return {
    maxCost: key(
      z.strictObject({
        turn: key(dollars, "maximum cost of one turn, US dollars", "no limit"),
        session: key(dollars, "maximum cost of a session, US dollars", "no limit"),
        day: key(
          dollars,
          "maximum cost of all sessions of the agent since midnight of the local time, US dollars",
          "no limit",
        ),
      }),
      "see below",
      "no limit",
    ),
    retry: key(
      z.strictObject({
        maxElapsedSeconds: key(
          seconds(z),
          "time limit of one call's retries; a server that asks for a longer wait (`retry-after`) fails the call at once, with the time of day",
          "1800; 300 for `pagurus run` without a terminal and for requests of the library with `oneShot: true`",
        ),
        maxDelaySeconds: key(seconds(z), "maximum backoff, unless a server asks for more", "60"),
      }),
      "see below",
    ),
    answerLimits: key(
      z.strictObject({
        bytes: key(bytes, "maximum bytes of an answer, decompressed", "134217728"),
        eventBytes: key(bytes, "maximum bytes of one event of its stream", "16777216"),
        silenceSeconds: key(
          seconds(z),
          "timeout without a byte; 2.5 times as long before the first one",
          "120",
        ),
        idleSeconds: key(seconds(z), "timeout without new content, whatever keep-alive bytes arrive", "600"),
      }),
      "see below",
    ),
    subagents: key(
      z.strictObject({
        maxSpawnDepth: key(z.int().min(0), "maximum nesting of children; 0 disables `spawn_agent`", "2"),
        maxConcurrent: key(z.int().min(1), "maximum concurrent children of a session", "4"),
        ttlSeconds: key(seconds(z), "lifetime limit of a child", "3600"),
      }),
      "see below",
    ),
  };
}
