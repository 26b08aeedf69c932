/** The turns of a conversation as a tree: a rewind begins a branch, and the words of all branches are kept. */
import type { SessionStore } from "@pagurus/contract/session/store";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { oneLine } from "./layout.ts";
import { typedText } from "./rewind.ts";
import { linesOf, parseEntry } from "./transcript-lines.ts";

export interface TreeTurn {
  /** Words of the person; empty for a turn without any, for example a compaction. */
  text: string;
  /** Its newest entry, after which the conversation can continue. */
  last: string;
  timestamp: string;
  /** It belongs to the conversation as it is now. */
  onPath: boolean;
  children: TreeTurn[];
}

/** A turn as it is read, before those without words are left out. */
interface ReadTurn extends TreeTurn {
  parent: ReadTurn | undefined;
}

class TurnReader {
  /** In the order of writing: a turn comes after the one before it. */
  readonly turns: ReadTurn[] = [];
  /** The turn of each entry. */
  readonly of = new Map<string, ReadTurn>();
  readonly #byId = new Map<string, ReadTurn>();

  take(entry: TranscriptEntry): void {
    if (entry.type === "rewind") return;
    const { id, parentId, turnId, timestamp } = entry;
    const parent = parentId === null ? undefined : this.of.get(parentId);
    const isInput = entry.type === "message" && entry.message.role === "user";
    let turn = turnId === undefined ? undefined : this.#byId.get(turnId);
    if (!turn && (isInput || turnId !== undefined)) {
      turn = { text: "", last: id, timestamp, onPath: false, children: [], parent };
      this.turns.push(turn);
      if (turnId !== undefined) this.#byId.set(turnId, turn);
    }
    turn ??= parent;
    if (!turn) return;
    if (isInput && turn.text === "") turn.text = oneLine(typedText(entry.message), 200);
    turn.last = id;
    this.of.set(id, turn);
  }

  /** The first turns with words; each has those that follow it. */
  tree(): TreeTurn[] {
    const first: TreeTurn[] = [];
    for (const turn of this.turns) {
      if (turn.text === "") continue;
      let before = turn.parent;
      while (before?.text === "") before = before.parent;
      (before?.children ?? first).push(turn);
    }
    return first;
  }
}

/** The first turns of the conversation, the oldest first. Throws `session_not_found`, `store_read_failed`. */
export async function sessionTree(store: SessionStore, sessionKey: string): Promise<TreeTurn[]> {
  const turns = new TurnReader();
  for await (const line of linesOf(store.export(sessionKey, "jsonl"))) {
    const entry = parseEntry(line);
    if (entry) turns.take(entry);
  }
  const reader = store.openReader(sessionKey);
  try {
    for await (const { id } of reader.cursor.backward()) {
      const turn = turns.of.get(id);
      if (turn) turn.onPath = true;
    }
  } finally {
    reader.close();
  }
  return turns.tree();
}

export interface TreeRow {
  turn: TreeTurn;
  /** For example `│ └─ ● try vitest`. */
  label: string;
  /** The conversation ends after it now. */
  isEnd: boolean;
}

/** Lines of the tree from top to bottom. A turn with one that follows stays in its column; branches are indented. */
export function treeRows(turns: readonly TreeTurn[]): TreeRow[] {
  const rows: TreeRow[] = [];
  // A stack in place of recursion: a conversation can have thousands of turns, one in the other.
  const left: { turn: TreeTurn; before: string; indent: string }[] = [];
  const put = (children: readonly TreeTurn[], indent: string): void => {
    const [only] = children;
    if (children.length === 1 && only) return void left.push({ turn: only, before: indent, indent });
    for (const [index, turn] of [...children.entries()].toReversed()) {
      const isLast = index === children.length - 1;
      left.push({
        turn,
        before: `${indent}${isLast ? "└─ " : "├─ "}`,
        indent: `${indent}${isLast ? "   " : "│  "}`,
      });
    }
  };
  put(turns, "");
  for (let next = left.pop(); next; next = left.pop()) {
    const { turn, before, indent } = next;
    const isEnd = turn.onPath && !turn.children.some(({ onPath }) => onPath);
    rows.push({ turn, label: `${before}${turn.onPath ? "●" : "○"} ${turn.text}`, isEnd });
    put(turn.children, indent);
  }
  return rows;
}
