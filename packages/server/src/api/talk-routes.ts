/** What a page to talk in needs besides: a name for a session, choices for its turns, slash commands, and files by their name. */
import { defined } from "@pagurus/core/data/defined";
import * as z from "zod";
import { PagurusError } from "@pagurus/contract/errors";
import { MODE_WORDS, PERMISSION_MODES } from "@pagurus/contract/host/permission-modes";
import * as answers from "@pagurus/api/answers";
import { narrowerMode } from "@pagurus/core/authority/authority";
import { agentSettings } from "@pagurus/core/config/agent-settings";
import { loadFor } from "@pagurus/core/config/load-config";
import { currentEnv, currentFolder } from "@pagurus/core/platform/surroundings";
import { commandsOf, customReport, isCommand, runCommand } from "@pagurus/host/command/host-command";
import { THINKING_LEVELS } from "@pagurus/host/command/command-types";
import { ModelList } from "@pagurus/acp-server/acp-models";
import type { CallerParts } from "../caller/caller-parts.ts";
import { presentSession } from "./present.ts";
import { AGENT, CWD, PAGE, route, SESSION, type ApiRoute } from "./route.ts";
import { found } from "./session-routes.ts";

/** Commands that a page has in another form: a download, the list beside it, the clipboard of the browser. */
const OTHERWISE: ReadonlySet<string> = new Set(["export", "resume", "output", "exit"]);

const LONGEST_NAME = 200;

/** The folder that turns of the caller have where they name none. */
function folderOf(parts: CallerParts, agent: string, cwd: string | undefined): string {
  const { config } = loadFor({ onlyLook: true }, parts.facts.home);
  const folder = cwd ?? agentSettings(config, agent).workspace ?? currentFolder();
  // Without a named folder too: the workspace of another agent is not the caller's.
  parts.pagurus.check.folder(folder, { agentId: agent });
  return folder;
}

function offered(parts: CallerParts): { name: string; usage: string; summary: string }[] {
  const ours = commandsOf("editor").filter(({ name }) => !OTHERWISE.has(name));
  const taken = new Set(ours.flatMap(({ name, aliases = [] }) => [name, ...aliases]));
  return [...ours, ...parts.pagurus.commands().filter(({ name }) => !taken.has(name))];
}

export const talkRoutes: readonly ApiRoute[] = [
  route({
    method: "post",
    path: "/sessions/{key}/name",
    summary: "Name a session, while no turn runs in it",
    scope: "chat",
    params: SESSION,
    query: AGENT,
    body: z.strictObject({ name: z.string().trim().min(1).max(LONGEST_NAME) }),
    answer: answers.session,
    handle: ({ params, query, body, parts }) => {
      const store = parts.pagurus.sessions(query.agent);
      const { cwd } = found(store, params.key);
      const writer = store.openWriter(params.key, { cwd, create: false, deadlineMs: 0 });
      try {
        writer.append({ type: "session_info", name: body.name });
      } finally {
        writer.close();
      }
      return { body: presentSession(found(store, params.key), query.agent) };
    },
  }),
  route({
    method: "get",
    path: "/choices",
    summary: "What a person can choose for the next turns: models, runtimes, permission modes, thinking",
    scope: "read",
    query: { ...AGENT, ...CWD, session: z.string().min(1).optional() },
    answer: answers.choices,
    handle: async ({ query, parts }) => {
      const { agent: agentId, session: sessionKey, cwd } = query;
      const { pagurus, facts } = parts;
      const record = sessionKey === undefined ? undefined : pagurus.sessions(agentId).find(sessionKey);
      const folder = record?.cwd ?? folderOf(parts, agentId, cwd);
      const place = { agentId, cwd: folder, ...defined({ sessionKey: record?.sessionKey }) };
      const [report, runtimes] = await Promise.all([
        pagurus.status(place),
        pagurus.runtimes.list({ agentId }),
      ]);
      const most = pagurus.mode(agentId);
      const { config } = loadFor({ onlyLook: true }, facts.home);
      const models = new ModelList({ home: facts.home, env: currentEnv() });
      return {
        body: {
          model: report.model.ref,
          models: models.refs(),
          runtime: report.Runtime.id,
          runtimes: runtimes.filter(({ runs }) => runs.supported).map(({ id, label }) => ({ id, label })),
          mode: narrowerMode(agentSettings(config, agentId).permission.mode, most),
          modes: PERMISSION_MODES.filter((mode) => narrowerMode(mode, most) === mode).map((id) => ({
            id,
            ...MODE_WORDS[id],
          })),
          thinking: [...THINKING_LEVELS],
          folder,
          problems: report.problems.map(({ message }) => message),
        },
      };
    },
  }),
  route({
    method: "get",
    path: "/slash-commands",
    summary: "Slash commands that a page offers: the host's, those of plugins, the user's own",
    scope: "read",
    query: { ...AGENT, ...CWD },
    answer: z.object({ commands: z.array(answers.command) }),
    handle: async ({ query, parts }) => {
      const cwd = folderOf(parts, query.agent, query.cwd);
      const { commands } = await customReport({ pagurus: parts.pagurus, agentId: query.agent, cwd });
      const custom = commands
        .filter(({ state }) => state === "offered")
        .map(({ name, argumentHint, description }) => ({ name, usage: argumentHint, summary: description }));
      const all = [...offered(parts), ...custom];
      return { body: { commands: all.map(({ name, usage, summary }) => ({ name, usage, summary })) } };
    },
  }),
  route({
    method: "post",
    path: "/sessions/{key}/slash",
    summary: "Run a line with a slash command; the answer is its text, and what the client does besides",
    scope: "chat",
    params: SESSION,
    query: AGENT,
    body: z.strictObject({ line: z.string().min(2) }),
    answer: answers.slashAnswer,
    handle: async ({ params, query, body, parts, signal }) => {
      const { pagurus } = parts;
      const [, name = ""] = /^\/(\S+)/.exec(body.line.trim()) ?? [];
      if (!isCommand(body.line.trim()) || OTHERWISE.has(name))
        throw new PagurusError(
          "usage_invalid",
          `${JSON.stringify(body.line.slice(0, 40))} is no command of the page; GET /api/v1/slash-commands lists them.`,
        );
      const record = pagurus.sessions(query.agent).find(params.key);
      const cwd = record?.cwd ?? folderOf(parts, query.agent, undefined);
      const place = { sessionKey: params.key, agentId: query.agent, cwd };
      const { text, effects } = await runCommand(body.line.trim(), { pagurus, ...place, signal });
      return { body: { text, effects: effects.map((effect) => ({ ...effect })) } };
    },
  }),
  route({
    method: "get",
    path: "/files",
    summary: "Files of a folder whose path has the typed text, without those that .gitignore names",
    scope: "read",
    query: { ...AGENT, ...CWD, ...PAGE, q: z.string().default("") },
    answer: z.object({ paths: z.array(z.string()) }),
    handle: async ({ query, parts }) => {
      const files = await parts.folders.list(folderOf(parts, query.agent, query.cwd));
      const typed = query.q.toLowerCase();
      const paths = files.filter((path) => path.toLowerCase().includes(typed));
      return { body: { paths: paths.slice(0, query.limit) } };
    },
  }),
];
