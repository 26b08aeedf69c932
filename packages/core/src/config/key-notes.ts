/**
 * Meaning and default of each configuration key, for people: source of the tables in docs/configuration.md and the descriptions
 * of `pagurus config schema`. A test compares its paths with those of the schema. `<>` means a key that a user chooses, `[]` a
 * list item; an agent of `agents.list` has the keys of `agents.defaults`.
 */

import { CONNECTION_NOTES, type KeyNote } from "./connection-notes.ts";
import { TRUST_NOTES } from "./trust-key-notes.ts";

export const KEY_NOTES: Readonly<Record<string, KeyNote>> = {
  ...CONNECTION_NOTES,
  "agents.defaults.workspace": [
    "folder that the agent works in; `--cwd` overrides it, and so does a current folder that is part of a project (a git repository, or an `AGENTS.md` or `CLAUDE.md` in it or above it); `~` is your home folder",
    "the current folder",
  ],
  "agents.defaults.model": [
    "model ref or alias, or `{primary, fallbacks}`; an agent's own replaces it with its fallbacks",
    "the first one found",
  ],
  "agents.defaults.model.primary": ["model ref or alias"],
  "agents.defaults.model.fallbacks": [
    "[models that take over](guides/fallbacks.md) when the primary fails, in order; for turns in the runtime `embedded`",
    "none",
  ],
  "agents.defaults.models": ["settings by model ref: `{agentRuntime, thinking, alias}`"],
  "agents.defaults.surfaces": ["models of the [tools for images and sound](guides/surfaces.md)", "none"],
  "agents.defaults.surfaces.images": ["ref of the model of the tool `generate_image`", "no such tool"],
  "agents.defaults.surfaces.speech": ["ref of the model of the tool `speak`", "no such tool"],
  "agents.defaults.surfaces.voice": ["voice of `speak`", "`alloy`"],
  "agents.defaults.surfaces.transcription": [
    "ref of the model of the tool `transcribe_audio`",
    "no such tool",
  ],
  "agents.defaults.permission": ["see below"],
  "agents.defaults.thinking": ["`off`, `low`, `medium`, `high`", "the model's own"],
  "agents.defaults.maxSteps": ["maximum model calls of one turn", "200"],
  "agents.defaults.timeoutSeconds": ["longest turn", "3600"],
  "agents.defaults.compaction": ["see below"],
  "agents.defaults.maxCost": ["see below", "no limit"],
  "agents.defaults.retry": ["see below"],
  "agents.defaults.answerLimits": ["see below"],
  "agents.defaults.subagents": ["see below"],
  "agents.defaults.toolResultMaxChars": [
    "characters of one tool result that are sent to the model; the transcript keeps all",
    "48000; for a window below 48,000 tokens as many characters as the window has tokens",
  ],
  "agents.defaults.contextPruning": ["see below"],
  "agents.defaults.contextPruning.mode": [
    "`cache-ttl`: [old tool results](architecture/compaction.md#old-tool-results) are shortened in what is sent, at a pause; `off`: never",
    "`cache-ttl`",
  ],
  "agents.defaults.contextPruning.ttl": [
    "the pause before a message of yours, such as `30m`, after which the provider's cache has expired; `0m`: each turn",
    "`1h`",
  ],
  "agents.defaults.contextPruning.tools": [
    "tools whose results age, `{allow, deny}`: lists of names, `*` matches any characters; `deny` wins",
    "all",
  ],
  "agents.defaults.contextPruning.hardClear": [
    "the oldest results in a context that is still more than half of the window: `{enabled, placeholder}`",
    "`true`, a line that names the entry",
  ],
  "agents.defaults.engineDeadlines": [
    "timeout of an engine at each stage, seconds: `{factory, bootstrap, assemble, compact, settle, maintain, dispose}`",
    "30, 60, 15, 180, 30, 60, 10",
  ],
  "agents.defaults.heartbeat": ["see below", "none"],
  "agents.defaults.heartbeat.every": ["interval of heartbeats of `pagurus serve`; `0m`: none", "`30m`"],
  "agents.defaults.heartbeat.activeHours": [
    "hours of a day in which they run: `{start, end, timezone}`, such as `08:00` and `22:00`",
    "all day, in the machine's time zone",
  ],
  "agents.defaults.heartbeat.prompt": [
    "their prompt",
    "look for work that is due, and answer `HEARTBEAT_OK` if there is none",
  ],
  "agents.defaults.heartbeat.session": ["key of their session", "`main`"],
  "agents.defaults.heartbeat.model": ["model ref", "the agent's"],
  "agents.defaults.permission.mode": [
    "`ask`, `deny`, `auto` (everything but writing outside of the workspace and reading keys), `read-only`",
    "`ask` on a terminal, else `deny`",
  ],
  "agents.defaults.permission.allow": ["rules `{tool, match, cwd, definition}`; `deny` overrides everything"],
  "agents.defaults.permission.deny": ["rules `{tool, match, cwd}`; `deny` overrides everything"],
  "agents.defaults.permission.shellEnv": [
    "variables that shell commands and agents see besides `PATH`, `HOME`, `LANG` and the like; a final `*` makes a prefix",
  ],
  "agents.defaults.permission.sandbox": ["`auto`, `off`, `require` (no shell without one)", "`auto`"],
  "agents.defaults.permission.network": [
    "`on`, `off`: the network of commands in the sandbox; `off` refuses them without a sandbox",
    "`on`",
  ],
  "agents.defaults.permission.unmask": [
    "files and folders outside the workspace, such as `~/.npmrc`, that commands and reading tools may see besides",
  ],
  "agents.defaults.compaction.model": ["ref of the model that writes summaries", "the session's"],
  "agents.defaults.compaction.keepRecentTokens": ["newest tokens that stay verbatim", "20000"],
  "agents.defaults.compaction.reserveTokens": ["tokens reserved for the answer", "16384"],
  "agents.defaults.compaction.reserveTokensFloor": [
    "minimum reserve; 0 where the engine owns or intercepts compaction",
    "20000",
  ],
  "agents.defaults.compaction.timeoutSeconds": ["longest compaction", "180"],
  "agents.defaults.compaction.identifierPolicy": [
    "`strict`: a summary keeps every exact identifier (paths, ids, symbols) that it can; `off`: they are not collected",
    "`strict`",
  ],
  "agents.defaults.compaction.customInstructions": ["instructions for summaries"],
  "agents.defaults.compaction.owner": [
    "`engine` or `native`: who compacts, if the runtime could too",
    "`engine`",
  ],
  "agents.defaults.compaction.mode": [
    "`default`; `safeguard`: a summary that lacks a required part or an identifier is written again, then refused",
    "`default`",
  ],
  "agents.defaults.compaction.notifyUser": [
    "whether a line is shown before and after a compaction; a failed one is always shown",
    "`true`",
  ],
  "agents.defaults.maxCost.turn": ["maximum cost of one turn, US dollars", "no limit"],
  "agents.defaults.maxCost.session": ["maximum cost of a session, US dollars", "no limit"],
  "agents.defaults.maxCost.day": [
    "maximum cost of all sessions of the agent since midnight of the local time, US dollars",
    "no limit",
  ],
  "agents.defaults.retry.maxElapsedSeconds": [
    "time limit of one call's retries; a server that asks for a longer wait (`retry-after`) fails the call at once, with the time of day",
    "1800; 300 for `pagurus run` without a terminal and for requests of the library with `oneShot: true`",
  ],
  "agents.defaults.retry.maxDelaySeconds": ["maximum backoff, unless a server asks for more", "60"],
  "agents.defaults.answerLimits.bytes": ["maximum bytes of an answer, decompressed", "134217728"],
  "agents.defaults.answerLimits.eventBytes": ["maximum bytes of one event of its stream", "16777216"],
  "agents.defaults.answerLimits.silenceSeconds": [
    "timeout without a byte; 2.5 times as long before the first one",
    "120",
  ],
  "agents.defaults.answerLimits.idleSeconds": [
    "timeout without new content, whatever keep-alive bytes arrive",
    "600",
  ],
  "agents.defaults.subagents.maxSpawnDepth": ["maximum nesting of children; 0 disables `spawn_agent`", "2"],
  "agents.defaults.subagents.maxConcurrent": ["maximum concurrent children of a session", "4"],
  "agents.defaults.subagents.ttlSeconds": ["lifetime limit of a child", "3600"],
  "models.providers.<>.api": [
    "`openai-responses`, `openai-completions`, `anthropic-messages`, `google-generative-ai`",
    "the known provider's",
  ],
  "models.providers.<>.baseUrl": ["http or https address", "the known provider's"],
  "models.providers.<>.apiKey": ["a key, `${VARIABLE}`, or `{file: path}`", "the provider's variable"],
  "models.providers.<>.headers": ["further request headers; `${VARIABLE}` works"],
  "models.providers.<>.cacheDiagnostics": [
    "whether requests ask the provider why its prompt cache missed; `pagurus context show` prints the answer",
    "`true` at the addresses of Anthropic and OpenAI",
  ],
  "models.providers.<>.models": ["model metadata, see below", "the catalog"],
  "models.providers.<>.agentRuntime": ["`{id, agentId, fallback}` for all models of the provider", "`auto`"],
  "models.providers.<>.models[].id": ["the model's id at the provider"],
  "models.providers.<>.models[].name": ["a name for people"],
  "models.providers.<>.models[].contextWindow": [
    "tokens that input and output share",
    "catalog, else 128000",
  ],
  "models.providers.<>.models[].maxTokens": ["maximum output tokens of one call", "catalog, else 8192"],
  "models.providers.<>.models[].reasoning": ["whether it thinks before it answers", "catalog"],
  "models.providers.<>.models[].input": ["list of `text`, `image`", "catalog"],
  "models.providers.<>.models[].promptCache": [
    "`none`, `automatic`, `marks` (the request says what to cache)",
    "by provider",
  ],
  "models.providers.<>.models[].truncatesSilently": [
    "whether the server drops what exceeds its window without an error",
    "Ollama: true",
  ],
  "models.providers.<>.models[].cost": [
    "`{input, output, cacheRead, cacheWrite}`, US dollars for a million tokens",
    "catalog",
  ],
  "models.providers.<>.models[].surfaces": [
    "list of `embeddings`, `images`, `speech`, `transcription`: the [surfaces](guides/surfaces.md) that the model serves instead of conversations",
    "OpenAI's own models: catalog",
  ],
  "models.providers.<>.models[].unitCost": [
    "`{request, image, minute, millionCharacters}`, US dollars: prices of its surfaces where `cost` has none",
    "none",
  ],
  "models.providers.<>.models[].agentRuntime": [
    "`{id, agentId, fallback}` for this model, for all agents",
    "the provider's",
  ],
  "plugins.slots.contextEngine": ["id of the context engine", "`lossless`"],
  "plugins.slots.memory": ["id of the memory: `files`, one of a plugin, or `none`", "`files`"],
  "plugins.entries.<>.enabled": [
    "whether a plugin is loaded",
    "`true` for `load.paths` and the bundled `codex`, `claude-cli`, `acp`, `false` for an installed one",
  ],
  "plugins.entries.<>.config": ["passed to the plugin unchanged, if its schema accepts it"],
  "plugins.load.paths": ["files and folders of plugins, in the order of loading"],
  "plugins.allow": [
    "ids of the only plugins to load; `codex`, `claude-cli`, `acp` have to be named too",
    "all",
  ],
  "plugins.deny": ["ids of plugins never to load; overrides `allow`", "none"],
  "plugins.entries.codex.config.command": [
    "path or name of the program",
    "`codex` on the PATH, else the package",
  ],
  "plugins.entries.codex.config.sandbox": [
    "`read-only`, `workspace-write`, `danger-full-access`; read-only under the permission modes `read-only`, `deny`",
    "`workspace-write`",
  ],
  "plugins.entries.codex.config.context": [
    "`thread`, `projection`, `wire`: how an engine's context reaches Codex; `wire` is through the model gateway, for each request",
    "as the engine names epochs",
  ],
  "plugins.entries.claude-cli.config.command": [
    "path or name of the program",
    "`claude` on the PATH, else the package",
  ],
  "plugins.entries.claude-cli.config.login": [
    "`own`: where the host has no key for the model, Claude Code runs with your own configuration folder and login, which the host does not read",
    "a key is needed",
  ],
  "plugins.entries.acp.config.agentId": [
    "agent of the models whose `agentRuntime` names none",
    "the only one in `agents`, else the one of the model's provider: `claude` for `anthropic`, `codex` for `openai`, `gemini` for `google`; another model needs a name",
  ],
  "plugins.entries.acp.config.agents.<>.command": [
    "path or name of a program that speaks the Agent Client Protocol",
    "the known agent's: `claude-agent-acp`, `codex-acp`, `gemini`, `opencode`",
  ],
  "plugins.entries.acp.config.agents.<>.args": ["its arguments", "the known agent's"],
  "plugins.entries.acp.config.agents.<>.env": ["variables besides those that every agent sees"],
  "plugins.entries.acp.config.agents.<>.cwd": [
    "folder that it starts in; sessions have the turn's",
    "where Pagurus runs",
  ],
  "plugins.entries.acp.config.agents.<>.mode": [
    "mode of its sessions, as the agent names it, whatever the permission mode",
    "by permission mode for `claude` and `codex`, else the agent's own",
  ],
  "plugins.entries.acp.config.agents.<>.model": [
    "model of its sessions, as the agent names it",
    "the turn's, if the agent has it",
  ],
  "plugins.entries.acp.config.agents.<>.login": [
    "`host`: it is pointed to the model if the host has a key for it; `own`: always its own login and endpoint",
    "`host`",
  ],
  "plugins.entries.acp.config.agents.<>.startSeconds": [
    "timeout of its first answer and of a session, at most 3600",
    "60",
  ],
  "plugins.entries.lossless.config.trigger": [
    "tokens of history and live turn at which it compacts",
    "130000, or 83 % of the budget",
  ],
  "plugins.entries.lossless.config.headTokens": [
    "tokens of the summary with requests, files and exact strings",
    "a share of the trigger",
  ],
  "plugins.entries.lossless.config.tailTokens": [
    "tokens of newest messages that a compaction leaves unchanged",
    "a share of the trigger",
  ],
  "plugins.entries.lossless.config.ignoreSessions": [
    "list of globs over session keys: nothing is stored beyond the transcript",
  ],
  "plugins.entries.lossless.config.statelessSessions": [
    "list of globs over session keys: as ignored, and each turn begins with nothing before it",
  ],
  "plugins.entries.lossless.config.summariesPerHour": [
    "maximum summaries requested from a model per hour, over all sessions of the agent; 0: none",
    "60",
  ],
  "plugins.entries.lossless.config.recall": [
    "after a compaction, earlier passages that match a turn's input are added before it",
    "true",
  ],
  "plugins.entries.lossless.config.encoder": ["orders talk by [meaning](guides/lossless.md) too", "false"],
  "plugins.entries.lossless.config.retention.sessionsOlderThanDays": [
    "days after which an unused session leaves the database; its transcript stays",
    "never",
  ],
  "memory.citations": [
    "whether the agent names the file and line of what it remembers: `auto`, `on`, `off`",
    "`auto`",
  ],
  "skills.paths": ["further folders of skills, or of one skill; relative ones start at `~/.pagurus`"],
  "skills.entries.<>.enabled": ["whether the skill is used", "`true`"],
  "gateway.capture": [
    "whether each model request that passes the model gateway is kept on the disk: `true`, `false`, or `{maxBytes, keep}`, which turns it on",
    "`false`",
  ],
  "gateway.capture.maxBytes": ["bytes of all captures together; the oldest are deleted", "268435456"],
  "gateway.capture.keep": ["number of newest requests kept per session", "all of them"],
  ...TRUST_NOTES,
  "server.port": ["port of `pagurus serve`; 0: any free one", "7117"],
  "server.host": ["address it listens on; another than the loopback needs a token", "127.0.0.1"],
  "server.maxTurns": ["sessions that may work at once", "16"],
  "server.allowedHosts": ["host names that requests may have, besides those of the loopback"],
  "store.kind": [
    "`files`: sessions are in the home folder; `postgres`: in a database that several hosts share",
    "`files`",
  ],
  "store.url": [
    "address of the PostgreSQL, with the TLS options of libpq: `postgres://user@host:5432/database?sslmode=verify-full`, or `${VARIABLE}`",
  ],
  "store.schema": ["schema of the tables in the database", "`pagurus`"],
  "store.lease": [
    "seconds after which another host may take over a session whose host has ended or does not answer",
    "10",
  ],
  "telemetry.otlp.endpoint": [
    "address of an OpenTelemetry collector for OTLP over HTTP, which gets a span for each turn, model call and tool call",
    "none",
  ],
  "telemetry.otlp.headers": ["headers that are sent with each export"],
  "telemetry.otlp.contents": ["whether answers, and arguments and results of tools, are sent too", "false"],
  "server.maxBodyBytes": ["longest body of a request, bytes", "33554432"],
  "server.maxBytesInFlight": ["bytes of all bodies of requests that are being answered", "134217728"],
  "server.maxRequests": ["requests of one token that are open at once, besides event streams", "256"],
  "server.maxLiveSessions": [
    "sessions of the model API whose state is kept in memory, those that were used last",
    "200",
  ],
  "server.questionSeconds": [
    "seconds for which a permission question to a client of the model API waits; then it is denied",
    "300",
  ],
  "server.allowedOrigins": ["origins of other sites' pages that may call the server", "none"],
  "session.scope": [
    "default conversation of a command: `folder` is that of the workspace, `main` is one conversation, `main`, for all folders",
    "`folder`",
  ],
  "logging.level": [
    "`debug`, `info`, `warn`, `error`, `silent`; the log is `~/.pagurus/logs/pagurus.log` and never holds prompts, contents or keys",
    "`info`",
  ],
  "plugins.entries.codex.config.compaction": [
    "`none`: Codex does not compact a thread that an engine governs; `own`: Codex compacts by its own rules",
    "`none`",
  ],
  "plugins.entries.claude-cli.config.context": [
    "`wire`: an engine's context reaches the model through the model gateway, for each request",
    "the session file of Claude Code",
  ],
  "plugins.entries.acp.config.agents": [
    "agents by id, see below; known without an entry: `claude`, `codex`, `gemini`, `opencode`, and any other id needs its `command`",
  ],
  "plugins.entries.acp.config.agents.<>.context": [
    "`wire`: an engine's context reaches the agent's model through the model gateway, for each request",
    "text in the prompt",
  ],
  "plugins.entries.<>.required": [
    "whether runs are refused when the plugin cannot be loaded",
    "`true` where the plugin is a gate",
  ],
  "agents.list[].id": ["1 to 64 letters, digits, `-`, `_`"],
};
