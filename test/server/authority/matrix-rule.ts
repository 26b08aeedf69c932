/** What the rule of authority expects of a request: refused, or let through to the operation. */
import { apiRoutes } from "../../../packages/server/src/api/api-routes.ts";
import { SURFACE_ROWS, type FieldKind } from "./field-rows.ts";
import type { CallerKind } from "./matrix-setting.ts";

const SCOPES = ["read", "chat", "admin"];

export function scopeOf(operation: string): string {
  if (Object.hasOwn(SURFACE_ROWS, operation)) return "chat";
  const [method = "", path = ""] = operation.split(" ");
  const route = apiRoutes.find((each) => each.method === method.toLowerCase() && each.path === path);
  if (!route) throw new Error(`no route ${operation}`);
  return route.scope;
}

/** Operations about the whole host, for callers of all sessions and agents. */
const WHOLE = new Set([
  "GET /spend",
  "GET /health",
  "GET /connections",
  "GET /channels",
  "POST /channels/approve",
  "POST /channels/remove",
]);

const KEYLESS = new Set(["GET /session-key", "GET /choices"]);

/** `isWithin`: the value is one that the narrowest caller may name. */
export function isRefused(
  caller: CallerKind,
  {
    operation,
    field,
    kind,
    isWithin,
  }: { operation: string; field: string; kind: FieldKind; isWithin: boolean },
): boolean {
  if (SCOPES.indexOf(caller.scope) < SCOPES.indexOf(scopeOf(operation))) return true;
  if (kind === "owner") return !caller.isOwner;
  if (WHOLE.has(operation)) return !(caller.allSessions && caller.allAgents);
  // Each caller but a full one manages only the tokens that it created.
  if (operation === "DELETE /tokens/{id}") return !caller.isFull;
  if (operation === "POST /approvals/{id}" && caller.mayOnlyRead) return true;
  // Without a key it is that of the folder's last conversation.
  if (KEYLESS.has(operation) && !caller.allSessions) return true;
  if (isWithin || kind === "data") return false;
  if (kind === "session" || kind === "owned") return !caller.allSessions;
  if (kind === "agent") return !caller.allAgents;
  if (kind === "limits" && (field === "body.scope" || field === "body.mode" || field === "body.expiresAt"))
    return false;
  if (field === "body.sessions") return !caller.allSessions;
  if (field === "body.agents") return !caller.allAgents;
  if (kind === "mode") return !caller.isOwner;
  return !caller.isFull;
}

/** Scope that a method of ACP needs. */
export function acpScopeOf(method: string): "chat" | "admin" {
  return method === "session/delete" ? "admin" : "chat";
}

/** Whether a caller may not use `/acp` at all: its clients list and open every session. */
export function isShutOut({ scope, allSessions }: CallerKind): boolean {
  return scope === "read" || !allSessions;
}

/** The same for a method of ACP. A session beyond a connection is one of another agent, or one that another connection has open. */
export function isAcpRefused(
  caller: CallerKind,
  { method, kind, isWithin }: { method: string; kind: FieldKind; isWithin: boolean },
): boolean {
  if (isShutOut(caller) || SCOPES.indexOf(caller.scope) < SCOPES.indexOf(acpScopeOf(method))) return true;
  if (isWithin || kind === "data") return false;
  if (kind === "session") return true;
  if (kind === "mode") return !caller.isOwner;
  return !caller.isFull;
}
