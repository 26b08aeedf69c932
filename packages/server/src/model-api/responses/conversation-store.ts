/** Conversations of the Responses API: lists of items that requests name and add to. */
import { randomBytes, randomUUID } from "node:crypto";
import type { Database } from "@pagurus/core/data/sqlite";
import { shownItem, type Item, type StoredItem } from "./items.ts";
import { defined } from "@pagurus/core/data/defined";

export interface Conversation {
  id: string;
  /** Unix time, s. */
  created: number;
  metadata: Record<string, unknown>;
}

/** An item at its place; `id` is the item's own, or one that was made for it. */
export interface PlacedItem extends StoredItem {
  id: string;
  position: number;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS conversations (
    token TEXT NOT NULL, id TEXT NOT NULL, created INTEGER NOT NULL, metadata TEXT NOT NULL, PRIMARY KEY (token, id)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS conversation_items (
    conversation TEXT NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL, item TEXT NOT NULL, model TEXT,
    PRIMARY KEY (conversation, position)
  );
  CREATE INDEX IF NOT EXISTS conversation_items_id ON conversation_items (id);
`;

export class ConversationStore {
  readonly #db: Database;

  /** Throws SQLite's errors. */
  constructor(db: Database) {
    this.#db = db;
    db.raw.exec(SCHEMA);
  }

  create(token: string, metadata: Record<string, unknown>, items: readonly Item[]): Conversation {
    const id = `conv_${randomBytes(24).toString("hex")}`;
    const created = Math.floor(Date.now() / 1000);
    this.#db.transaction(() => {
      this.#db.run(
        "INSERT INTO conversations VALUES (?, ?, ?, ?)",
        token,
        id,
        created,
        JSON.stringify(metadata),
      );
      this.add(
        id,
        items.map((item) => ({ item })),
      );
    });
    return { id, created, metadata };
  }

  find(token: string, id: string): Conversation | undefined {
    const row = this.#db.get<{ created: number; metadata: string }>(
      "SELECT created, metadata FROM conversations WHERE token = ? AND id = ?",
      token,
      id,
    );
    return row && { id, created: row.created, metadata: JSON.parse(row.metadata) as Record<string, unknown> };
  }

  describe(token: string, id: string, metadata: Record<string, unknown>): void {
    this.#db.run(
      "UPDATE conversations SET metadata = ? WHERE token = ? AND id = ?",
      JSON.stringify(metadata),
      token,
      id,
    );
  }

  /** With its items. */
  remove(token: string, id: string): void {
    this.#db.transaction(() => {
      this.#db.run("DELETE FROM conversations WHERE token = ? AND id = ?", token, id);
      this.#db.run("DELETE FROM conversation_items WHERE conversation = ?", id);
    });
  }

  /** Adds items at the end, all or none, and returns them. Throws SQLite's errors. */
  add(id: string, items: readonly StoredItem[]): PlacedItem[] {
    return this.#db.transaction(() => {
      const from = this.end(id);
      return items.map(({ item, model }, at) => {
        const position = from + at;
        const itemId = String(shownItem(item, randomUUID())["id"]);
        this.#db.run(
          "INSERT INTO conversation_items VALUES (?, ?, ?, ?, ?)",
          id,
          position,
          itemId,
          JSON.stringify(item),
          model ?? null,
        );
        return { id: itemId, position, item, ...defined({ model }) };
      });
    });
  }

  /** Position of the next item. */
  end(id: string): number {
    const row = this.#db.get<{ last: number | null }>(
      "SELECT max(position) AS last FROM conversation_items WHERE conversation = ?",
      id,
    );
    return (row?.last ?? -1) + 1;
  }

  /** The items before a position, the oldest first; all of them without one. */
  items(id: string, before = Number.MAX_SAFE_INTEGER): PlacedItem[] {
    const rows = this.#db.all<{ position: number; id: string; item: string; model: string | null }>(
      "SELECT position, id, item, model FROM conversation_items WHERE conversation = ? AND position < ? ORDER BY position",
      id,
      before,
    );
    return rows.map((row) => ({
      id: row.id,
      position: row.position,
      item: JSON.parse(row.item) as Item,
      ...defined({ model: row.model ?? undefined }),
    }));
  }

  /** The item of a token's conversations with an id. */
  item(token: string, itemId: string): StoredItem | undefined {
    const row = this.#db.get<{ item: string; model: string | null }>(
      `SELECT i.item AS item, i.model AS model FROM conversation_items i JOIN conversations c ON c.id = i.conversation
       WHERE i.id = ? AND c.token = ?`,
      itemId,
      token,
    );
    return row && { item: JSON.parse(row.item) as Item, ...defined({ model: row.model ?? undefined }) };
  }

  /** False if there is no such item. */
  removeItem(id: string, itemId: string): boolean {
    return this.#db.run("DELETE FROM conversation_items WHERE conversation = ? AND id = ?", id, itemId) > 0;
  }
}
