/** Each method of ACP, with each kind of caller, over the network and as `pagurus acp`: let through or refused, by the rows. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { firstOf } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";
import { AcpCaller, type Outcome, type Transport } from "./acp-caller.ts";
import { ACP_ROWS, type FieldKind } from "./field-rows.ts";
import { isAcpRefused, isShutOut } from "./matrix-rule.ts";
import { CALLERS, MatrixServer, type CallerKind } from "./matrix-setting.ts";

interface Probe {
  method: string;
  /** Empty: the method itself. */
  field: string;
  kind: FieldKind;
  isWithin: boolean;
}

/** A connection begins with `initialize`, and asks `session/request_permission` itself: both have tests of their own below. */
const METHODS = Object.keys(ACP_ROWS).filter(
  (method) => method !== "initialize" && method !== "session/request_permission",
);
/** Their session has to exist; that of the others has to be open at the connection. */
const OPENS = new Set(["session/load", "session/resume", "session/fork", "session/delete"]);
/** The library's client takes "not found" for done here: only the effect shows a refusal. */
const IDEMPOTENT = new Set(["session/close", "session/delete"]);
const REFUSED = new Set(["token_invalid", "usage_invalid", "session_not_found"]);

function probesOf(method: string): Probe[] {
  const limited = Object.entries(ACP_ROWS[method] ?? {}).filter(([, kind]) => kind !== "data");
  return [
    { method, field: "", kind: "data", isWithin: true },
    ...limited.map(([field, kind]): Probe => ({ method, field, kind, isWithin: false })),
  ];
}

describe("the matrix of ACP methods and callers", () => {
  let matrix: MatrixServer;
  /** The owner's, with a turn that waits for an answer: no other connection may touch it. */
  let other: AcpCaller;
  let waiting: string;
  let turn: Promise<Outcome>;
  let isOver = false;
  const connections = new Map<string, AcpCaller>();

  before(async () => {
    matrix = await MatrixServer.start();
    const [owner] = CALLERS;
    assert.ok(owner);
    other = await AcpCaller.connect(matrix, owner, "websocket");
    waiting = await other.session(matrix.setting.workspace);
    turn = other.ask("session/prompt", promptOf(waiting, "use the shell for waiting"));
    void turn.finally(() => (isOver = true));
    await until(() => other.asked.length > 0);
  });
  after(async () => {
    for (const connection of connections.values()) connection.close();
    other.close();
    await matrix.close();
  });

  const promptOf = (sessionId: string, text: string): object => ({
    sessionId,
    prompt: [{ type: "text", text }],
  });

  async function connection(caller: CallerKind, transport: Transport): Promise<AcpCaller> {
    const name = `${transport} ${caller.name}`;
    const known = connections.get(name) ?? (await AcpCaller.connect(matrix, caller, transport));
    connections.set(name, known);
    return known;
  }

  const programs = (mark: string): object[] => [
    { name: "x", command: "/bin/sh", args: ["-c", `touch ${mark}`], env: [] },
  ];

  async function sessionOf({ method, field }: Probe, open: AcpCaller): Promise<string> {
    if (OPENS.has(method))
      return await matrix.session(false, field === "sessionId" ? "other" : "main", false);
    return field === "sessionId" ? waiting : await open.session(matrix.setting.workspace);
  }

  async function paramsOf(probe: Probe, open: AcpCaller, mark: string): Promise<object> {
    const rows = ACP_ROWS[probe.method] ?? {};
    const isBeyond = (name: string): boolean => probe.field === name;
    const fields: Record<string, () => unknown> = {
      sessionId: () => sessionOf(probe, open),
      cwd: () => (isBeyond("cwd") ? matrix.outside : matrix.setting.workspace),
      mcpServers: () => (isBeyond("mcpServers") ? programs(mark) : []),
      modeId: () => (isBeyond("modeId") ? "auto" : "read-only"),
      configId: () => "mode",
      value: () => (isBeyond("value") ? "auto" : "read-only"),
      prompt: () => [{ type: "text", text: "Hello." }],
    };
    const params: Record<string, unknown> = { protocolVersion: 1, clientCapabilities: {}, methodId: "x" };
    for (const name of Object.keys(rows)) if (fields[name]) params[name] = await fields[name]();
    return params;
  }

  async function exists(params: object): Promise<boolean> {
    const { sessionId } = params as { sessionId: string };
    if (sessionId === waiting) return !isOver;
    const path = `/api/v1/sessions/${encodeURIComponent(sessionId)}?agent=other`;
    return (await matrix.server.call("GET", path)).status === 200;
  }

  /** A client's MCP servers are started with its turn. */
  async function mayHaveStarted(open: AcpCaller, { result }: Outcome, params: object): Promise<void> {
    const sessionId = result?.["sessionId"] ?? (params as { sessionId?: string }).sessionId;
    if (typeof sessionId === "string") await open.ask("session/prompt", promptOf(sessionId, "Hello."));
  }

  async function tryOut(probe: Probe, caller: CallerKind, transport: Transport): Promise<void> {
    const open = await connection(caller, transport);
    const mark = join(matrix.setting.root, `started-${matrix.key(true)}`);
    const params = await paramsOf(probe, open, mark);
    const { method, field, kind, isWithin } = probe;
    const shown = `${transport} ${caller.name}: ${method} ${field} ${isWithin ? "within" : "beyond"}`;
    if (method === "session/cancel") {
      await open.notify(method, params);
      return;
    }
    const outcome = await open.ask(method, params);
    const told = `${shown}: ${JSON.stringify(outcome).slice(0, 300)}`;
    // No caller can sign in: there is nothing to sign in to.
    const isRefused = isAcpRefused(caller, probe) || method === "authenticate";
    if (isRefused && IDEMPOTENT.has(method) && outcome.result) assert.ok(await exists(params), told);
    else if (isRefused) assert.ok(REFUSED.has(outcome.code ?? ""), told);
    else assert.ok(outcome.result, told);
    if (kind !== "programs") return;
    await mayHaveStarted(open, outcome, params);
    assert.equal(existsSync(mark), !isRefused, `${shown}: the program ran`);
  }

  const TRANSPORTS = firstOf<Transport>(["websocket", "http"]);

  for (const method of METHODS)
    it(`lets through what a caller may name and refuses the rest: ${method}`, async () => {
      for (const probe of probesOf(method)) {
        for (const transport of TRANSPORTS)
          for (const caller of CALLERS.filter((each) => !isShutOut(each)))
            await tryOut(probe, caller, transport);
        for (const caller of CALLERS.filter(({ isOwner }) => isOwner)) await tryOut(probe, caller, "stdio");
      }
    });

  it("takes an answer that saves a rule only of a caller that may save rules", async () => {
    const rules = (): string => readFileSync(join(matrix.setting.home, "pagurus.json"), "utf8");
    for (const transport of [...TRANSPORTS, "stdio"] as const)
      for (const caller of CALLERS.filter((each) => !isShutOut(each))) {
        if (transport === "stdio" && !caller.isOwner) continue;
        const open = await connection(caller, transport);
        open.answer = "always";
        const word = matrix.key(true);
        const sessionId = await open.session(matrix.setting.workspace);
        await open.ask("session/prompt", promptOf(sessionId, `use the shell for ${word}`));
        const probe = { method: "session/request_permission", kind: "rule", isWithin: false } as const;
        assert.equal(rules().includes(word), !isAcpRefused(caller, probe), `${transport} ${caller.name}`);
      }
  });

  it("refuses the connection of a caller that may only read, or that may not use every session", async () => {
    for (const transport of TRANSPORTS)
      for (const caller of CALLERS.filter(isShutOut))
        await assert.rejects(AcpCaller.connect(matrix, caller, transport), `${transport} ${caller.name}`);
  });

  it("leaves a turn of another connection running", async () => {
    assert.equal(isOver, false);
    other.answer = "once";
    other.release();
    assert.equal((await turn).result?.["stopReason"], "end_turn");
  });
});
