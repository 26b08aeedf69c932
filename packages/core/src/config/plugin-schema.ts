/** The part of the configuration's schema about plugins, with the settings of the bundled engine and agent runtimes. */
import { key, requiredKey } from "./described-key.ts";
import type { Zod } from "./load-schema-library.ts";

function lossless(z: Zod) {
  const tokens = z.int().min(1);
  const keys = z.array(z.string().min(1));
  return z.strictObject({
    trigger: key(
      tokens,
      "tokens of history and live turn at which it compacts",
      "130000, or 83 % of the budget",
    ),
    headTokens: key(
      tokens,
      "tokens of the summary with requests, files and exact strings",
      "a share of the trigger",
    ),
    tailTokens: key(
      tokens,
      "tokens of newest messages that a compaction leaves unchanged",
      "a share of the trigger",
    ),
    ignoreSessions: key(keys, "list of globs over session keys: nothing is stored beyond the transcript"),
    statelessSessions: key(
      keys,
      "list of globs over session keys: as ignored, and each turn begins with nothing before it",
    ),
    summariesPerHour: key(
      z.int().min(0),
      "maximum summaries requested from a model per hour, over all sessions of the agent; 0: none",
      "60",
    ),
    recall: key(
      z.boolean(),
      "after a compaction, earlier passages that match a turn's input are added before it",
      "true",
    ),
    recallTokens: key(
      tokens,
      "most tokens of the passages for one question: more show more, and each costs what new input costs",
      "8000",
    ),
    encoder: key(z.boolean(), "orders talk by [meaning](guides/lossless.md) too", "false"),
    retention: z
      .strictObject({
        sessionsOlderThanDays: requiredKey(
          z.number().positive(),
          "days after which an unused session leaves the database; its transcript stays",
          "never",
        ),
      })
      .optional(),
  });
}

function codex(z: Zod) {
  return z.strictObject({
    command: key(z.string().min(1), "path or name of the program", "`codex` on the PATH, else the package"),
    sandbox: key(
      z.enum(["read-only", "workspace-write", "danger-full-access"]),
      "`read-only`, `workspace-write`, `danger-full-access`; read-only under the permission modes `read-only`, `deny`",
      "`workspace-write`",
    ),
    context: key(
      z.enum(["thread", "projection", "wire"]),
      "`thread`, `projection`, `wire`: how an engine's context reaches Codex; `wire` is through the model gateway, for each request",
      "as the engine names epochs",
    ),
    compaction: key(
      z.enum(["none", "own"]),
      "`none`: Codex does not compact a thread that an engine governs; `own`: Codex compacts by its own rules",
      "`none`",
    ),
  });
}

function claude(z: Zod) {
  return z.strictObject({
    command: key(z.string().min(1), "path or name of the program", "`claude` on the PATH, else the package"),
    login: key(
      z.enum(["own"]),
      "`own`: where the host has no key for the model, Claude Code runs with your own configuration folder and login, which the host does not read",
      "a key is needed",
    ),
    context: key(
      z.enum(["wire"]),
      "`wire`: an engine's context reaches the model through the model gateway, for each request",
      "the session file of Claude Code",
    ),
  });
}

/** Longest start of an ACP agent, seconds. */
const MOST_START_SECONDS = 3_600;

function acp(z: Zod) {
  const text = z.string().min(1);
  const agent = z.strictObject({
    command: key(
      text,
      "path or name of a program that speaks the Agent Client Protocol",
      "the known agent's: `claude-agent-acp`, `codex-acp`, `gemini`, `opencode`",
    ),
    args: key(z.array(z.string()), "its arguments", "the known agent's"),
    env: key(z.record(z.string(), z.string()), "variables besides those that every agent sees"),
    cwd: key(text, "folder that it starts in; sessions have the turn's", "where Pagurus runs"),
    mode: key(
      text,
      "mode of its sessions, as the agent names it, whatever the permission mode",
      "by permission mode for `claude` and `codex`, else the agent's own",
    ),
    model: key(text, "model of its sessions, as the agent names it", "the turn's, if the agent has it"),
    login: key(
      z.enum(["host", "own"]),
      "`host`: it is pointed to the model if the host has a key for it; `own`: always its own login and endpoint",
      "`host`",
    ),
    context: key(
      z.enum(["wire"]),
      "`wire`: an engine's context reaches the agent's model through the model gateway, for each request",
      "text in the prompt",
    ),
    startSeconds: key(
      z.number().positive().max(MOST_START_SECONDS),
      "timeout of its first answer and of a session, at most 3600",
      "60",
    ),
  });
  return z.strictObject({
    agents: key(
      z.record(text, agent),
      "agents by id, see below; known without an entry: `claude`, `codex`, `gemini`, `opencode`, and any other id needs its `command`",
    ),
    agentId: key(
      text,
      "agent of the models whose `agentRuntime` names none",
      "the only one in `agents`, else the one of the model's provider: `claude` for `anthropic`, `codex` for `openai`, `gemini` for `google`; another model needs a name",
    ),
  });
}

/** `plugins.entries`: the settings of what is bundled; plugins check their own. */
function pluginEntries(z: Zod) {
  const shared = {
    enabled: key(
      z.boolean(),
      "whether a plugin is loaded",
      "`true` for `load.paths` and the bundled `codex`, `claude-cli`, `acp`, `false` for an installed one",
    ),
    required: key(
      z.boolean(),
      "whether runs are refused when the plugin cannot be loaded",
      "`true` where the plugin is a gate",
    ),
  };
  return z
    .object({
      lossless: z.strictObject({ enabled: shared.enabled, config: lossless(z).optional() }).optional(),
      codex: z.strictObject({ ...shared, config: codex(z).optional() }).optional(),
      "claude-cli": z.strictObject({ ...shared, config: claude(z).optional() }).optional(),
      acp: z.strictObject({ ...shared, config: acp(z).optional() }).optional(),
    })
    .catchall(
      z.strictObject({
        ...shared,
        config: key(z.unknown(), "passed to the plugin unchanged, if its schema accepts it"),
      }),
    );
}

export function plugins(z: Zod) {
  return z.strictObject({
    slots: z
      .strictObject({
        contextEngine: key(z.string().min(1), "id of the context engine", "`lossless`"),
        memory: key(z.string().min(1), "id of the memory: `files`, one of a plugin, or `none`", "`files`"),
      })
      .optional(),
    entries: pluginEntries(z).optional(),
    load: z
      .strictObject({
        paths: key(z.array(z.string().min(1)), "files and folders of plugins, in the order of loading"),
      })
      .optional(),
    allow: key(
      z.array(z.string().min(1)),
      "ids of the only plugins to load; `codex`, `claude-cli`, `acp` have to be named too",
      "all",
    ),
    deny: key(z.array(z.string().min(1)), "ids of plugins never to load; overrides `allow`", "none"),
  });
}
