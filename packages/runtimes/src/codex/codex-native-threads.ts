/** Codex's own threads, as the app-server lists them. Starts no turn and loads no thread. */
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type {
  AdoptedThread,
  NativeProgram,
  NativeThread,
  NativeThreadFilter,
} from "@pagurus/contract/harness/native";
import { versionNote } from "@pagurus/core/platform/version-notes";
import { RpcError } from "@pagurus/core/rpc/peer";
import type { AppServer, AppServers } from "./app-server/app-server.ts";
import type {
  GetAccountParams,
  GetAccountResponse,
  Thread,
  ThreadListParams,
  ThreadListResponse,
  ThreadReadParams,
  ThreadReadResponse,
  ThreadSourceKind,
} from "./protocol.ts";
import { defined } from "@pagurus/core/data/defined";

const REQUEST_MS = 30_000;
const DEFAULT_THREADS = 50;
/** Page size, threads. */
const PAGE = 100;
const PREVIEW_CHARS = 200;
/** Limit of threads that are searched for a shortened id. */
const LOOKED_THROUGH = 1_000;
const WHOLE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Excludes subagents, which belong to their parents. */
const SOURCES: ThreadSourceKind[] = ["cli", "vscode", "exec", "appServer"];

export class NativeThreads {
  readonly #servers: AppServers;
  readonly #home: string;

  /** `home`: the host's folder. */
  constructor(servers: AppServers, home: string) {
    this.#servers = servers;
    this.#home = home;
  }

  /** The most recently used first. Throws `runtime_failed`. */
  async list({ cwd, limit }: NativeThreadFilter, signal?: AbortSignal): Promise<NativeThread[]> {
    const server = await this.#servers.get(signal);
    const wanted = limit ?? DEFAULT_THREADS;
    const found: NativeThread[] = [];
    for (let cursor: string | null = null; ;) {
      const params: ThreadListParams = {
        cursor,
        limit: Math.min(PAGE, wanted - found.length),
        sortKey: "updated_at",
        // Otherwise only those of Codex's configured provider.
        modelProviders: [],
        sourceKinds: SOURCES,
        ...defined({ cwd }),
      };
      const page: ThreadListResponse = await asked(server, "thread/list", params, signal);
      found.push(...page.data.map(listed));
      cursor = page.nextCursor;
      if (cursor === null || found.length >= wanted) return found.slice(0, wanted);
    }
  }

  /** Throws `thread_unknown`, `runtime_failed`. */
  async adopt(nativeId: string, signal?: AbortSignal): Promise<AdoptedThread> {
    const threadId = WHOLE_ID.test(nativeId) ? nativeId.toLowerCase() : await this.#wholeId(nativeId, signal);
    const params: ThreadReadParams = { threadId };
    const server = await this.#servers.get(signal);
    const { thread } = await asked<ThreadReadResponse>(server, "thread/read", params, signal).catch(
      (error: unknown) => {
        throw isPagurusError(error) && error.cause instanceof RpcError ? unknown(nativeId) : error;
      },
    );
    if (thread.path === null)
      throw new PagurusError(
        "thread_unknown",
        `Codex has no file of the thread ${threadId}; a thread that is to be adopted must not be ephemeral.`,
      );
    return { ...listed(thread), history: { file: thread.path, format: "codex" } };
  }

  /** Throws `runtime_failed`. */
  async program(signal?: AbortSignal): Promise<NativeProgram> {
    const found = this.#servers.find();
    if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
    const server = await this.#servers.get(signal);
    const params: GetAccountParams = { refreshToken: false };
    const account = await asked<GetAccountResponse>(server, "account/read", params, signal);
    const program = [found.command, ...found.args].join(" ");
    const { version } = server;
    const drift = versionNote(this.#home, "codex", version);
    return { program, version, login: loginOf(account), ...defined({ drift }) };
  }

  async #wholeId(beginning: string, signal: AbortSignal | undefined): Promise<string> {
    const start = beginning.toLowerCase();
    const ids = (await this.list({ limit: LOOKED_THROUGH }, signal)).map(({ nativeId }) => nativeId);
    const [id, another] = ids.filter((each) => start !== "" && each.startsWith(start));
    if (id === undefined) throw unknown(beginning);
    if (another === undefined) return id;
    throw new PagurusError(
      "thread_unknown",
      `More than one Codex thread begins with ${beginning}; enter more of its id.`,
    );
  }
}

function listed({ id, name, preview, cwd, updatedAt }: Thread): NativeThread {
  return {
    nativeId: id,
    preview: (name ?? preview).slice(0, PREVIEW_CHARS),
    cwd,
    updatedAt: new Date(updatedAt * 1000).toISOString(),
  };
}

/** Kind of the account only: no address, no key. */
function loginOf({ account }: GetAccountResponse): string {
  if (!account) return "not logged in";
  switch (account.type) {
    case "apiKey":
      return "an API key";
    case "chatgpt":
      return `a ChatGPT account (plan ${account.planType})`;
    case "amazonBedrock":
      return "Amazon Bedrock";
    case "gcp":
      return "Google Cloud";
  }
}

async function asked<T>(
  server: AppServer,
  method: string,
  params: unknown,
  signal: AbortSignal | undefined,
): Promise<T> {
  try {
    return await server.request<T>(method, params, { deadlineMs: REQUEST_MS, ...defined({ signal }) });
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new PagurusError("runtime_failed", `Codex refused \`${method}\`: ${error.message}`, {
      cause: error,
    });
  }
}

function unknown(nativeId: string): PagurusError {
  return new PagurusError(
    "thread_unknown",
    `Codex has no thread ${nativeId}; \`pagurus codex threads --all\` lists them.`,
    { details: { nativeId } },
  );
}
