/** Rows of the summary DAG: nodes and the frontier of a session. Does not decide what is due. */
import { PagurusError } from "@pagurus/contract/errors";
import type { Database } from "@pagurus/core/data/sqlite";
import { cut } from "./entries/cutting.ts";
import { valueOf } from "./entries/entry-rows.ts";
import { Keeper, sourceOf } from "./entries/texts.ts";
import { segmentOf } from "./entries/entry-place.ts";
import { checkedRow } from "./sums.ts";
import { entryAt, entryMissing, requireSession, resolve, segmentRow } from "./entries/entry-tree.ts";
import type {
  Frontier,
  NewFrontier,
  NewNode,
  NodeKind,
  NodeOrigin,
  NodeState,
  SummaryNode,
} from "./store-types.ts";
import { defined } from "@pagurus/core/data/defined";

interface NodeRow {
  num: number;
  id: string;
  session: number;
  session_id: string | null;
  kind: NodeKind;
  depth: number;
  first: number;
  last: number;
  body: string;
  tokens: number;
  source_tokens: number;
  origin: NodeOrigin;
  model: string | null;
  state: NodeState;
  details: string | null;
}

const SELECT = "SELECT n.*, s.id AS session_id FROM nodes n LEFT JOIN sessions s ON s.num = n.session";

/** Place of a node in the table of uses: negative, to distinguish it from an entry's. */
export function nodePlace(num: number): number {
  return -num;
}

export function jsonColumn(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

export function parsed(text: string | null): { details?: unknown } {
  return text === null ? {} : { details: JSON.parse(text) as unknown };
}

/** Adds a node; false when its id exists already. Throws `session_not_found`, `entry_not_found`. */
export function addNode(db: Database, node: NewNode): boolean {
  return db.transaction(() => {
    if (nodeNum(db, node.nodeId) !== undefined) return false;
    const session = requireSession(db, node.sessionId);
    const place = (id: string): number => {
      const found = resolve(db, session.num, id);
      if (found === undefined) throw entryMissing(session.id, id);
      return found;
    };
    const first = place(node.firstEntryId);
    const { lastInsertRowid } = db
      .prepare(
        `INSERT INTO nodes (id, session, kind, depth, first, last, body, tokens, source_tokens, origin, model, state, details)
         VALUES (?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        node.nodeId,
        session.num,
        node.kind,
        node.depth,
        first,
        place(node.lastEntryId),
        node.tokens,
        node.sourceTokens,
        node.origin,
        node.model ?? null,
        node.state,
        jsonColumn(node.details),
      );
    const num = Number(lastInsertRowid);
    const tree = segmentRow(db, segmentOf(first))?.tree ?? 0;
    const body = new Keeper(db).keep(cut({ summary: node.text }), { place: nodePlace(num), tree });
    db.run("UPDATE nodes SET body = ? WHERE num = ?", body, num);
    node.children.forEach((child, ordinal) =>
      db.run(
        "INSERT INTO node_children (parent, ordinal, child) VALUES (?, ?, ?)",
        num,
        ordinal,
        requireNode(db, child),
      ),
    );
    return true;
  });
}

function nodeNum(db: Database, id: string): number | undefined {
  return db.get<{ num: number }>("SELECT num FROM nodes WHERE id = ?", id)?.num;
}

function requireNode(db: Database, id: string): number {
  const num = nodeNum(db, id);
  if (num !== undefined) return num;
  throw new PagurusError("entry_not_found", `The lossless store has no summary ${id}; make it first.`, {
    details: { nodeId: id },
  });
}

export function getNode(db: Database, id: string): SummaryNode | undefined {
  const row = db.get<NodeRow>(`${SELECT} WHERE n.id = ?`, id);
  return row && nodeOf(db, row);
}

export function nodeAt(db: Database, num: number): SummaryNode | undefined {
  const row = db.get<NodeRow>(`${SELECT} WHERE n.num = ?`, num);
  return row && nodeOf(db, row);
}

/** Nodes of a session in order of creation. */
export function nodesOf(
  db: Database,
  sessionId: string,
  filter: { state?: NodeState; depth?: number; condensed?: false } = {},
): SummaryNode[] {
  const session = requireSession(db, sessionId);
  const rows = db.all<NodeRow>(
    `${SELECT} WHERE n.session = ? AND (?2 IS NULL OR n.state = ?2) AND (?3 IS NULL OR n.depth = ?3)
     AND (?4 IS NULL OR NOT EXISTS (SELECT 1 FROM node_children WHERE child = n.num)) ORDER BY n.num`,
    session.num,
    filter.state ?? null,
    filter.depth ?? null,
    filter.condensed === false ? 1 : null,
  );
  return rows.map((row) => nodeOf(db, row));
}

/** The condensed nodes that include this one. */
export function parentsOf(db: Database, id: string): SummaryNode[] {
  const rows = db.all<NodeRow>(
    `${SELECT} JOIN node_children c ON c.parent = n.num WHERE c.child = ? ORDER BY n.num`,
    requireNode(db, id),
  );
  return rows.map((row) => nodeOf(db, row));
}

export function setNodeState(db: Database, id: string, state: NodeState): boolean {
  return db.run("UPDATE nodes SET state = ? WHERE id = ?", state, id) > 0;
}

function nodeOf(db: Database, row: NodeRow): SummaryNode {
  checkedRow("nodes", row);
  const { summary } = valueOf(row.body, sourceOf(db)) as { summary: string };
  const children = db.all<{ id: string }>(
    "SELECT n.id FROM node_children c JOIN nodes n ON n.num = c.child WHERE c.parent = ? ORDER BY c.ordinal",
    row.num,
  );
  return {
    nodeId: row.id,
    sessionId: row.session_id ?? "",
    kind: row.kind,
    depth: row.depth,
    firstEntryId: entryAt(db, row.first)?.id ?? "",
    lastEntryId: entryAt(db, row.last)?.id ?? "",
    children: children.map(({ id }) => id),
    text: summary,
    tokens: row.tokens,
    sourceTokens: row.source_tokens,
    origin: row.origin,
    ...defined({ model: row.model ?? undefined }),
    state: row.state,
    order: row.num,
    ...parsed(row.details),
  };
}

/** Without `details`, which are large, the row is not checked either: its sum is over them too. */
export function getFrontier(db: Database, sessionId: string, withDetails = true): Frontier {
  return db.snapshot(() => {
    const session = requireSession(db, sessionId);
    const row = db.get<{ version: number; first_kept: string | null; details?: string | null }>(
      `SELECT ${withDetails ? "*" : "version, first_kept"} FROM frontiers WHERE session = ?`,
      session.num,
    );
    if (row && withDetails) checkedRow("frontiers", row);
    const nodes = db.all<{ id: string }>(
      "SELECT n.id FROM frontier_nodes f JOIN nodes n ON n.num = f.node WHERE f.session = ? ORDER BY f.ordinal",
      session.num,
    );
    const frontier: Frontier = {
      version: row?.version ?? 0,
      nodeIds: nodes.map(({ id }) => id),
      firstKeptEntryId: row?.first_kept ?? null,
    };
    const text = row?.details ?? null;
    let details: unknown;
    // Large, so it is read lazily.
    const get = (): unknown => (details ??= JSON.parse(text ?? "null"));
    return text === null ? frontier : Object.defineProperty(frontier, "details", { get, enumerable: true });
  });
}

/**
 * Compare and swap: false when the frontier no longer has the expected version. Added nodes become `published`, removed
 * nodes that are in no other frontier `replaced`. Throws `session_not_found`,
 * `entry_not_found` for an unknown node.
 */
export function publishFrontier(
  db: Database,
  sessionId: string,
  expectedVersion: number,
  next: NewFrontier,
): boolean {
  return db.transaction(() => {
    const session = requireSession(db, sessionId);
    const current = db.get<{ version: number }>(
      "SELECT version FROM frontiers WHERE session = ?",
      session.num,
    );
    if ((current?.version ?? 0) !== expectedVersion) return false;
    const before = db.all<{ node: number }>("SELECT node FROM frontier_nodes WHERE session = ?", session.num);
    db.run("DELETE FROM frontier_nodes WHERE session = ?", session.num);
    next.nodeIds.forEach((id, ordinal) => {
      const node = requireNode(db, id);
      db.run(
        "INSERT INTO frontier_nodes (session, ordinal, node) VALUES (?, ?, ?)",
        session.num,
        ordinal,
        node,
      );
      db.run("UPDATE nodes SET state = 'published' WHERE num = ?", node);
    });
    for (const { node } of before) {
      db.run(
        `UPDATE nodes SET state = 'replaced'
         WHERE num = ?1 AND NOT EXISTS (SELECT 1 FROM frontier_nodes WHERE node = ?1)`,
        node,
      );
    }
    db.run(
      `INSERT INTO frontiers (session, version, first_kept, details) VALUES (?, ?, ?, ?)
       ON CONFLICT (session) DO UPDATE
       SET version = excluded.version, first_kept = excluded.first_kept, details = excluded.details`,
      session.num,
      expectedVersion + 1,
      next.firstKeptEntryId,
      jsonColumn(next.details),
    );
    return true;
  });
}
