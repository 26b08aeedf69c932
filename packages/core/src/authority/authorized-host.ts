/**
 * The host as one caller may use it. Every member checks the caller's authority before it calls the host; a value that the caller may not
 * name is refused in one sentence, and what it leaves out gets the narrowest default. Nothing that a caller sends reaches the host
 * another way.
 */
import type { Authority, Scope } from "@pagurus/contract/host/authority";
import type { PermissionMode } from "@pagurus/contract/host/permission-modes";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import type { RunRequest, TurnRun } from "@pagurus/contract/host/run";
import type { SessionStore } from "@pagurus/contract/session/store";
import { agentSettings, DEFAULT_AGENT_ID } from "../config/agent-settings.ts";
import type { PagurusConfig } from "../config/config-types.ts";
import {
  allowsFolder,
  beyond,
  bothOf,
  checkAgent,
  checkScope,
  checkSession,
  checkUnlimited,
  isUnlimited,
  mostOf,
  narrowerMode,
  widerAudience,
} from "./authority.ts";
import { AuthorizedStore } from "./authorized-store.ts";
import { currentFolder } from "../platform/surroundings.ts";
import { defined } from "../data/defined.ts";

/** The host that it checks the calls of. */
export interface InnerHost {
  host: Pagurus;
  /** Starts a turn whose request is made inside of it: what `make` throws is the event `turn.failed`. */
  run(make: () => RunRequest): TurnRun;
  /** Throws `config_invalid` for an unknown agent. */
  agent(agentId: string): AgentLimits;
}

/** The configured mode of an agent's turns, and its workspace: an absolute path. */
export interface AgentLimits {
  mode: PermissionMode;
  workspace: string;
}

/** Throws `config_invalid` for an unknown agent. */
export function agentLimits(config: PagurusConfig, agentId: string): AgentLimits {
  const { permission, workspace } = agentSettings(config, agentId);
  return { mode: permission.mode, workspace: workspace ?? currentFolder() };
}

/** The owner may do everything. */
export const OWNER_CHECK: PagurusHost["check"] = {
  run: () => undefined,
  compact: () => undefined,
  command: () => undefined,
  folder: () => undefined,
};

/** What most requests name. */
interface Place {
  agentId?: string | undefined;
  sessionKey?: string | undefined;
  cwd?: string | undefined;
}

export class AuthorizedHost implements PagurusHost {
  readonly #inner: InnerHost;
  readonly #authority: Authority;

  constructor(inner: InnerHost, authority: Authority) {
    this.#inner = inner;
    this.#authority = authority;
  }

  as(authority: Authority): PagurusHost {
    return new AuthorizedHost(this.#inner, bothOf(this.#authority, authority));
  }

  /** The most permissive mode that a turn may have. */
  mode(agentId: string = DEFAULT_AGENT_ID): PermissionMode {
    const { mode } = this.#inner.agent(agentId);
    return mostOf(this.#authority, mode) ?? "auto";
  }

  /** Throws `token_invalid`. */
  #need(scope: Scope, what: string): void {
    const { until } = this.#authority;
    if (until !== undefined && until <= Date.now()) throw beyond(what, "its token has expired");
    checkScope(this.#authority, scope, what);
  }

  #owner(what: string): void {
    this.#need("admin", what);
    if (this.#authority.door !== "owner") throw beyond(what, "only the user of this machine may");
  }

  #checkFolder(agentId: string, path: string, sessionKey: string | undefined): void {
    if (this.#authority.folders === "any") return;
    const record = sessionKey === undefined ? undefined : this.#inner.host.sessions(agentId).find(sessionKey);
    const own = [this.#inner.agent(agentId).workspace, record?.cwd, record?.folder];
    if (
      !allowsFolder(
        this.#authority,
        path,
        own.filter((each) => each !== undefined),
      )
    )
      throw beyond(
        `name the folder ${JSON.stringify(path)}`,
        "leave it out, or name one inside of the session's folder or the agent's workspace",
      );
  }

  /** The request with its session named, where the caller may not use every one. */
  #checked<R extends Place>(request: R, scope: Scope, what: string): R {
    this.#need(scope, what);
    const { agentId = DEFAULT_AGENT_ID, cwd } = request;
    checkAgent(this.#authority, agentId);
    if (request.sessionKey !== undefined) checkSession(this.#authority, request.sessionKey);
    if (cwd !== undefined) this.#checkFolder(agentId, cwd, request.sessionKey);
    if (request.sessionKey !== undefined || isUnlimited(this.#authority)) return request;
    const sessionKey = this.#inner.host.sessionKey({ agentId, cwd });
    checkSession(this.#authority, sessionKey);
    return { ...request, sessionKey };
  }

  /** As `#checked`, for what belongs to a folder and to no session. */
  #inFolder<R extends Place>(request: R, scope: Scope, what: string): R {
    this.#need(scope, what);
    const { agentId = DEFAULT_AGENT_ID, cwd } = request;
    checkAgent(this.#authority, agentId);
    if (cwd !== undefined) this.#checkFolder(agentId, cwd, undefined);
    return request;
  }

  /** The mode of a turn; undefined: the configured one. Throws `token_invalid` for one that is more permissive than the caller may. */
  #mode(
    { agentId = DEFAULT_AGENT_ID }: Place,
    asked: PermissionMode | undefined,
  ): PermissionMode | undefined {
    const configured = this.#inner.agent(agentId).mode;
    const most = mostOf(this.#authority, configured);
    if (most === undefined) return asked;
    if (asked === undefined) return most === configured ? undefined : most;
    if (narrowerMode(asked, most) === asked) return asked;
    throw beyond(`run a turn in the mode ${asked}`, `the most permissive mode here is ${most}`);
  }

  #audience(asked: RunRequest["audience"]): Pick<RunRequest, "audience"> {
    const audience = widerAudience(this.#authority.audience, asked);
    return audience === undefined ? {} : { audience };
  }

  /** The request of a turn with what the authority adds to it. Throws `token_invalid`. */
  #turn(request: RunRequest): RunRequest {
    const checked = this.#checked(request, "chat", "run a turn");
    const permission = this.#mode(request, request.permission);
    return { ...checked, ...defined({ permission }), ...this.#audience(request.audience) };
  }

  readonly check: PagurusHost["check"] = {
    run: (request) => void this.#turn(request),
    compact: (request) => void this.#checked(request, "chat", "compact a session"),
    command: (request) => void this.#command(request),
    folder: (path, { agentId = DEFAULT_AGENT_ID, sessionKey } = {}) => {
      checkAgent(this.#authority, agentId);
      this.#checkFolder(agentId, path, sessionKey);
    },
  };

  run(request: RunRequest): TurnRun {
    return this.#inner.run(() => this.#turn(request));
  }

  checkInput: Pagurus["checkInput"] = async (request) => {
    checkAgent(this.#authority, request.agentId ?? DEFAULT_AGENT_ID);
    return this.#inner.host.checkInput(request);
  };

  sessions(agentId: string = DEFAULT_AGENT_ID): SessionStore {
    checkAgent(this.#authority, agentId);
    return new AuthorizedStore(this.#inner.host.sessions(agentId), {
      authority: this.#authority,
      need: (scope, what) => this.#need(scope, what),
      checkFolder: (path, sessionKey) => this.#checkFolder(agentId, path, sessionKey),
    });
  }

  readonly context: Pagurus["context"] = {
    preview: async (request) => {
      const checked = this.#checked(request, "read", "look at a context");
      return this.#inner.host.context.preview({ ...checked, ...this.#audience(request.audience) });
    },
    recall: async (request) =>
      this.#inner.host.context.recall(this.#checked(request, "read", "look at a context")),
    receipts: async (request) =>
      this.#inner.host.context.receipts(this.#checked(request, "read", "read receipts")),
  };

  claim: Pagurus["claim"] = async (request = {}) => {
    // It may choose another session than the one that is checked here.
    this.#checked(request, "chat", "claim a session");
    const claim = await this.#inner.host.claim(request);
    try {
      checkSession(this.#authority, claim.sessionKey);
      return claim;
    } catch (error) {
      claim.release();
      throw error;
    }
  };

  sessionKey: Pagurus["sessionKey"] = (request = {}) => {
    const checked = this.#checked(request, "read", "ask for a session's key");
    return this.#inner.host.sessionKey(checked);
  };

  compact: Pagurus["compact"] = async (request) =>
    this.#inner.host.compact(this.#checked(request, "chat", "compact a session"));

  maintain: Pagurus["maintain"] = async (request) =>
    this.#inner.host.maintain(this.#checked(request, "admin", "maintain a session"));

  readonly native: Pagurus["native"] = {
    threads: async (request) => {
      this.#everything("chat", "list the threads of other programs");
      return this.#inner.host.native.threads(request);
    },
    bind: async (request) => {
      this.#everything("chat", "take over a thread of another program");
      return this.#inner.host.native.bind(request);
    },
    status: async (request) =>
      this.#inner.host.native.status(this.#checked(request, "read", "look at a runtime's threads")),
    answerCompaction: async (request) =>
      this.#inner.host.native.answerCompaction(this.#checked(request, "chat", "compact a session")),
    tools: async (request) => this.#inner.host.native.tools(this.#checked(request, "read", "list tools")),
  };

  readonly running: Pagurus["running"] = {
    steer: async (request) => this.#inner.host.running.steer(this.#checked(request, "chat", "steer a turn")),
    stop: async (request) => this.#inner.host.running.stop(this.#checked(request, "chat", "stop a turn")),
  };

  commands: Pagurus["commands"] = () => {
    const all = this.#inner.host.commands();
    return isUnlimited(this.#authority) ? all : all.filter(({ reach }) => reach === "session");
  };

  get plugins(): Pagurus["plugins"] {
    this.#everything("read", "look at the plugins");
    return this.#inner.host.plugins;
  }

  /** A command that does not declare to stay in its session may read and change any. */
  command: Pagurus["command"] = async (request) => this.#inner.host.command(this.#command(request));

  #command<R extends Place & { name: string }>(request: R): R {
    const checked = this.#checked(request, "chat", "run a command");
    const known = this.#inner.host
      .commands()
      .find(({ name, aliases }) => name === request.name || aliases?.includes(request.name));
    if (known && known.reach !== "session")
      checkUnlimited(this.#authority, `run the command /${request.name}`);
    return checked;
  }

  skills: Pagurus["skills"] = async (request = {}) =>
    this.#inner.host.skills(this.#inFolder(request, "read", "list skills"));

  readonly customCommands: Pagurus["customCommands"] = {
    list: async (request = {}) =>
      this.#inner.host.customCommands.list(this.#inFolder(request, "read", "list commands")),
    expand: async (request) =>
      this.#inner.host.customCommands.expand(this.#inFolder(request, "chat", "expand a command")),
  };

  readonly runtimes: Pagurus["runtimes"] = {
    list: async (request = {}) =>
      this.#inner.host.runtimes.list(this.#inFolder(request, "read", "list runtimes")),
    explain: async (request = {}) =>
      this.#inner.host.runtimes.explain(this.#inFolder(request, "read", "explain a runtime")),
  };

  rewindFiles: Pagurus["rewindFiles"] = async (request) =>
    this.#inner.host.rewindFiles(this.#checked(request, "admin", "rewind files"));

  renew: Pagurus["renew"] = async (request) =>
    this.#inner.host.renew(this.#checked(request, "chat", "renew a session"));

  spawn: Pagurus["spawn"] = async (request) => {
    const { parentSessionKey: sessionKey, agentId, cwd } = request;
    const place = this.#checked({ sessionKey, agentId, cwd }, "chat", "start a subagent");
    const permission = this.#mode(request, request.permission);
    return this.#inner.host.spawn({
      ...request,
      ...defined({ parentSessionKey: place.sessionKey, permission }),
    });
  };

  deleteSession: Pagurus["deleteSession"] = async (request) =>
    this.#inner.host.deleteSession(this.#checked(request, "admin", "delete a session"));

  reload: Pagurus["reload"] = async (options) => {
    this.#owner("reload the configuration");
    return this.#inner.host.reload(options);
  };

  status: Pagurus["status"] = async (request = {}) =>
    this.#inner.host.status(this.#checked(request, "read", "look at the status"));

  async close(): Promise<void> {
    this.#owner("end the host");
    return this.#inner.host.close();
  }

  #everything(scope: Scope, what: string): void {
    this.#need(scope, what);
    checkUnlimited(this.#authority, what);
  }
}
