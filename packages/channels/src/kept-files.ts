/** Files that wait to be sent, in the server's database: an answer's file may change or vanish before it is sent. */
import type { Attachment } from "@pagurus/contract/channel/channel";
import type { Database } from "@pagurus/core/data/sqlite";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS channel_files (
  message TEXT PRIMARY KEY, name TEXT NOT NULL, mime TEXT NOT NULL, bytes BLOB NOT NULL);`;

export class KeptFiles {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    db.raw.exec(SCHEMA);
  }

  /** In the transaction that queues the message. */
  keep(messageId: string, { name, mimeType, bytes }: Attachment): void {
    this.#db.run(
      "INSERT OR IGNORE INTO channel_files (message, name, mime, bytes) VALUES (?, ?, ?, ?)",
      messageId,
      name,
      mimeType,
      bytes,
    );
  }

  find(messageId: string): Attachment | undefined {
    const row = this.#db.get<{ name: string; mime: string; bytes: Uint8Array }>(
      "SELECT name, mime, bytes FROM channel_files WHERE message = ?",
      messageId,
    );
    return row && { name: row.name, mimeType: row.mime, bytes: row.bytes };
  }

  remove(messageId: string): void {
    this.#db.run("DELETE FROM channel_files WHERE message = ?", messageId);
  }
}
