/**
 * What each field of our API and of ACP is to a caller's authority. `npm run lint` fails for a field of the OpenAPI document, or a method of
 * ACP, that has no row here; `matrix.process.test.ts` and `acp-matrix.process.test.ts` try each row with every kind of caller.
 */

/**
 * `session`, `agent`, `folder`, `mode`, `programs`, `rule`, `limits`: the dimension that the value is checked against. `owned`: an id of
 * something that belongs to a session, or a token. `owner`: the whole operation is the owner's. `data`: nothing that an authority limits.
 */
export type FieldKind =
  | "session"
  | "agent"
  | "folder"
  | "mode"
  | "programs"
  | "rule"
  | "limits"
  | "owned"
  | "owner"
  | "data";

type Row = Readonly<Record<string, FieldKind>>;

const PLACE: Row = { "path.key": "session", "query.agent": "agent" };
const PAGE: Row = { "query.limit": "data", "query.before": "data" };
const REQUEST: Row = { ...PLACE, "path.request": "data" };
const ID: Row = { "path.id": "owned" };

/** By operation, then by place and name of the field, for example `query.agent`. */
export const API_ROWS: Readonly<Record<string, Row>> = {
  "GET /sessions": { "query.agent": "agent", "query.limit": "data", "query.after": "data" },
  "POST /sessions": { "body.key": "session", "body.agent": "agent", "body.cwd": "folder" },
  "GET /search": {
    "query.agent": "agent",
    "query.limit": "data",
    "query.q": "data",
    "query.session": "session",
  },
  "POST /sessions/{key}/name": { ...PLACE, "body.name": "data" },
  "POST /sessions/{key}/slash": { ...PLACE, "body.line": "data" },
  "GET /choices": { "query.agent": "agent", "query.session": "session", "query.cwd": "folder" },
  "GET /slash-commands": { "query.agent": "agent", "query.cwd": "folder" },
  "GET /files": { "query.agent": "agent", "query.cwd": "folder", "query.limit": "data", "query.q": "data" },
  "GET /sessions/{key}": PLACE,
  "DELETE /sessions/{key}": PLACE,
  "GET /sessions/{key}/entries": { ...PLACE, ...PAGE },
  "POST /sessions/{key}/fork": { ...PLACE, "body.key": "session", "body.entryId": "data" },
  "POST /sessions/{key}/rewind": { ...PLACE, "body.entryId": "data" },
  "GET /sessions/{key}/export": { ...PLACE, "query.format": "data" },
  "POST /sessions/{key}/turns": {
    ...PLACE,
    "header.Idempotency-Key": "data",
    "body.prompt": "data",
    "body.parts": "data",
    "body.policy": "data",
    "body.model": "data",
    "body.runtime": "data",
    "body.cwd": "folder",
    "body.permission": "mode",
    "body.audience": "data",
    "body.thinking": "data",
    "body.heartbeat": "data",
    "body.oneShot": "data",
    "body.additionalContext": "data",
    "body.maxCost": "data",
  },
  "POST /sessions/{key}/compact": { ...PLACE, "body.focus": "data", "body.cwd": "folder" },
  "GET /sessions/{key}/work": { ...PLACE, "query.limit": "data" },
  "GET /work": {},
  "GET /work/{id}": ID,
  "DELETE /work/{id}": ID,
  "POST /work/{id}/stop": ID,
  "GET /work/{id}/events": { ...ID, "query.after": "data", "query.until": "data" },
  "POST /sessions/{key}/steer": { ...PLACE, "body.text": "data" },
  "POST /sessions/{key}/stop": PLACE,
  "GET /commands": {},
  "POST /sessions/{key}/commands": {
    ...PLACE,
    "body.name": "data",
    "body.args": "data",
    "body.cwd": "folder",
  },
  "GET /events": { "query.after": "data", "query.until": "data" },
  "GET /sessions/{key}/events": { ...PLACE, "query.after": "data", "query.until": "data" },
  "GET /approvals": {},
  "POST /approvals/{id}": { ...ID, "body.answer": "rule", "body.reason": "data", "body.content": "data" },
  "GET /status": {},
  "GET /agents": {},
  "GET /sessions/{key}/status": {
    ...PLACE,
    "query.cwd": "folder",
    "query.model": "data",
    "query.runtime": "data",
  },
  "GET /sessions/{key}/receipts": { ...PLACE, "query.turn": "data" },
  "POST /sessions/{key}/preview": {
    ...PLACE,
    "body.prompt": "data",
    "body.budget": "data",
    "body.exact": "data",
    "body.cwd": "folder",
  },
  "GET /tokens": {},
  "POST /tokens": {
    "body.name": "data",
    "body.scope": "limits",
    "body.sessions": "limits",
    "body.agents": "limits",
    "body.folders": "limits",
    "body.mode": "limits",
    "body.mayStartPrograms": "limits",
    "body.mayRemember": "limits",
    "body.expiresAt": "limits",
  },
  "DELETE /tokens/{id}": ID,
  "POST /browser-codes": { "body.scope": "owner", "body.session": "owner" },
  "GET /sessions/{key}/diff": { ...PLACE, "query.from": "data", "query.to": "data" },
  "GET /session-key": { "query.agent": "agent", "query.cwd": "folder" },
  "POST /claims": {
    "body.agent": "agent",
    "body.session": "session",
    "body.cwd": "folder",
    "body.how": "data",
  },
  "GET /records": { "query.agent": "agent", "query.key": "session", "query.folder": "folder" },
  "GET /sessions/{key}/state": { ...PLACE, "query.id": "data" },
  "POST /sessions/{key}/renew": { ...PLACE, "body.reason": "data", "body.cwd": "folder" },
  "GET /command-files": { "query.agent": "agent", "query.cwd": "folder" },
  "POST /command-files/expand": {
    "body.agent": "agent",
    "body.cwd": "folder",
    "body.name": "data",
    "body.args": "data",
  },
  "GET /jobs": {},
  "POST /jobs": {
    "body.prompt": "data",
    "body.session": "session",
    "body.agent": "agent",
    "body.model": "data",
    "body.cwd": "folder",
    "body.times": "data",
    "body.missed": "data",
    "body.check": "programs",
  },
  "GET /jobs/{id}": ID,
  "DELETE /jobs/{id}": ID,
  "POST /jobs/{id}/pause": ID,
  "POST /jobs/{id}/resume": ID,
  "POST /jobs/{id}/run": ID,
  "GET /sessions/{key}/requests": { ...PLACE, ...PAGE, "query.turn": "data" },
  "GET /sessions/{key}/curve": { ...PLACE, "query.points": "data" },
  "GET /sessions/{key}/requests/{request}": REQUEST,
  "GET /sessions/{key}/requests/{request}/parts": {
    ...REQUEST,
    "query.from": "data",
    "query.limit": "data",
  },
  "GET /sessions/{key}/requests/{request}/body": { ...REQUEST, "query.from": "data", "query.to": "data" },
  "GET /sessions/{key}/requests/{request}/diff": { ...REQUEST, "query.since": "data" },
  "GET /sessions/{key}/requests/{request}/left-out": {
    ...REQUEST,
    "query.limit": "data",
    "query.from": "data",
  },
  "GET /sessions/{key}/report": { ...PLACE, "query.request": "data", "query.redact": "data" },
  "GET /sessions/{key}/timeline": {
    ...PLACE,
    ...PAGE,
    "query.atOnce": "data",
    "query.entry": "data",
  },
  "GET /sessions/{key}/branches": PLACE,
  "GET /sessions/{key}/compactions": { ...PLACE, ...PAGE },
  "GET /sessions/{key}/compactions/{entry}/summaries/{summary}": {
    ...PLACE,
    "path.entry": "data",
    "path.summary": "data",
  },
  "GET /sessions/{key}/entries/{entry}": { ...PLACE, "path.entry": "data", "query.session": "data" },
  "GET /sessions/{key}/usage": PLACE,
  "GET /spend": { "query.days": "data" },
  "GET /health": {},
  "GET /connections": {},
  "GET /channels": {},
  "POST /channels/approve": { "body.code": "data" },
  "POST /channels/remove": { "body.channel": "data", "body.address": "data" },
};

const SURFACE: Row = { "header.X-Pagurus-Session": "session", "body.model": "data" };

/** The direct surfaces of the model API, by operation. They are counted for the agent `main`. */
export const SURFACE_ROWS: Readonly<Record<string, Row>> = {
  "POST /v1/embeddings": SURFACE,
  "POST /v1/images/generations": SURFACE,
  "POST /v1/images/edits": SURFACE,
  "POST /v1/audio/speech": SURFACE,
  "POST /v1/audio/transcriptions": SURFACE,
  "POST /v1/audio/translations": SURFACE,
};

/** Methods of ACP that a client calls, by method, then by field. */
export const ACP_ROWS: Readonly<Record<string, Row>> = {
  initialize: {},
  authenticate: {},
  "session/new": { cwd: "folder", mcpServers: "programs" },
  "session/load": { sessionId: "session", cwd: "folder", mcpServers: "programs" },
  "session/resume": { sessionId: "session", cwd: "folder", mcpServers: "programs" },
  "session/fork": { sessionId: "session", cwd: "folder", mcpServers: "programs" },
  "session/list": { cwd: "data", cursor: "data" },
  "session/delete": { sessionId: "session" },
  "session/close": { sessionId: "session" },
  "session/set_mode": { sessionId: "session", modeId: "mode" },
  "session/set_config_option": { sessionId: "session", configId: "data", value: "mode" },
  "session/prompt": { sessionId: "session", prompt: "data" },
  "session/cancel": { sessionId: "session" },
  "session/request_permission": { optionId: "rule" },
};
