/** The pack files of an archive: records are appended to the last one, and none is ever changed. */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
} from "node:fs";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir, fsyncDir, writeAll, writeReason } from "@pagurus/core/platform/atomic-files";
import { HEADER_BYTES, isWhole, readHead, type RecordHead } from "./records.ts";

/** A pack that has grown to this size is followed by the next one. */
const PACK_BYTES = 256 * 1024 * 1024;
const BUFFER = 4 * 1024 * 1024;

export interface Place {
  pack: number;
  offset: number;
}

export interface FoundRecord extends Place {
  head: RecordHead;
  payload: Buffer;
}

function nameOf(pack: number): string {
  return `${String(pack).padStart(8, "0")}.pack`;
}

export class PackFiles {
  readonly #folder: string;
  readonly #fds = new Map<number, number>();
  #last: number;
  /** Bytes of the last pack that are on the disk. */
  #size: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dirty = false;
  readonly #writable: boolean;

  /** Throws `store_write_failed`, and the system's errors of reading. */
  constructor(folder: string, { writable }: { writable: boolean }) {
    this.#folder = folder;
    this.#writable = writable;
    if (writable) ensurePrivateDir(folder);
    const packs = this.packs();
    this.#last = packs.at(-1) ?? 1;
    this.#size = packs.length > 0 ? fstatSync(this.#fd(this.#last)).size : 0;
  }

  /** Numbers of the packs that exist. */
  packs(): number[] {
    return readdirSync(this.#folder)
      .flatMap((name) => (/^\d{8}\.pack$/.test(name) ? [Number(name.slice(0, 8))] : []))
      .toSorted((one, other) => one - other);
  }

  bytes(): number {
    return this.packs().reduce((sum, pack) => sum + fstatSync(this.#fd(pack)).size, this.#waitingBytes);
  }

  /** Where the next record goes. */
  get end(): Place {
    return { pack: this.#last, offset: this.#size + this.#waitingBytes };
  }

  /** Appends a record, which is on the disk after the next `sync`. */
  append(record: Buffer): Place {
    if (this.#size + this.#waitingBytes >= PACK_BYTES) this.#next();
    const place = this.end;
    this.#waiting.push(record);
    this.#waitingBytes += record.length;
    if (this.#waitingBytes >= BUFFER) this.#flush();
    return place;
  }

  /** Brings all records to the disk. Throws `store_write_failed`. */
  sync(): void {
    this.#flush();
    if (!this.#dirty) return;
    try {
      fsyncSync(this.#fd(this.#last));
    } catch (error) {
      throw this.#failure(error);
    }
    this.#dirty = false;
  }

  #flush(): void {
    if (this.#waitingBytes === 0) return;
    try {
      writeAll(this.#fd(this.#last), Buffer.concat(this.#waiting), this.#size);
    } catch (error) {
      throw this.#failure(error);
    }
    this.#size += this.#waitingBytes;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#dirty = true;
  }

  #next(): void {
    this.sync();
    this.#last += 1;
    this.#size = 0;
  }

  #failure(error: unknown): PagurusError {
    const file = join(this.#folder, nameOf(this.#last));
    return new PagurusError("store_write_failed", `Cannot write to ${file}: ${writeReason(error)}.`, {
      cause: error,
      details: { file },
    });
  }

  #fd(pack: number): number {
    let fd = this.#fds.get(pack);
    if (fd === undefined) {
      const mode = this.#writable ? constants.O_RDWR | constants.O_CREAT : constants.O_RDONLY;
      fd = openSync(join(this.#folder, nameOf(pack)), mode, 0o600);
      this.#fds.set(pack, fd);
      if (this.#writable) fsyncDir(this.#folder);
    }
    return fd;
  }

  /** Reads a record that is known to be whole. Throws `store_read_failed`. */
  read({ pack, offset }: Place): FoundRecord {
    if (pack === this.#last && offset >= this.#size) this.#flush();
    const found = this.#at(pack, offset);
    if (found) return found;
    throw new PagurusError(
      "store_read_failed",
      `The record at ${offset} of ${join(this.#folder, nameOf(pack))} is damaged; restore the file from a copy.`,
    );
  }

  #at(pack: number, offset: number): FoundRecord | undefined {
    const fd = this.#fd(pack);
    const start = bytesAt(fd, offset, HEADER_BYTES);
    const head = readHead(start);
    if (!head) return undefined;
    const payload = bytesAt(fd, offset + HEADER_BYTES, head.stored);
    if (payload.length < head.stored || !isWhole(start, payload)) return undefined;
    return { pack, offset, head, payload };
  }

  /** The whole records from a place on; damaged bytes between them are skipped, and counted by `damaged`. */
  *recordsFrom(from: Place, damaged: (bytes: number) => void = () => undefined): Generator<FoundRecord> {
    for (const pack of this.packs().filter((each) => each >= from.pack)) {
      let offset = pack === from.pack ? from.offset : 0;
      for (;;) {
        const found = this.#at(pack, offset) ?? this.#after(pack, offset);
        if (!found) break;
        if (found.offset > offset) damaged(found.offset - offset);
        yield found;
        offset = found.offset + HEADER_BYTES + found.payload.length;
      }
    }
  }

  /** The next whole record after damaged bytes. */
  #after(pack: number, offset: number): FoundRecord | undefined {
    const fd = this.#fd(pack);
    for (let start = offset + 1; ; start += BUFFER - 1) {
      const bytes = bytesAt(fd, start, BUFFER);
      for (let at = bytes.indexOf("PK"); at >= 0; at = bytes.indexOf("PK", at + 1)) {
        const found = this.#at(pack, start + at);
        if (found) return found;
      }
      if (bytes.length < BUFFER) return undefined;
    }
  }

  /** Cuts the last pack after its last whole record: what follows was being written when a process ended. */
  cut({ pack, offset }: Place): void {
    if (pack !== this.#last || offset >= this.#size) return;
    ftruncateSync(this.#fd(pack), offset);
    this.#size = offset;
    this.#dirty = true;
  }

  close(): void {
    for (const fd of this.#fds.values()) closeSync(fd);
    this.#fds.clear();
  }
}

function bytesAt(fd: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const count = readSync(fd, bytes, read, length - read, offset + read);
    if (count === 0) break;
    read += count;
  }
  return bytes.subarray(0, read);
}
