/** An open file of another program, as it is at one moment. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** Non-blocking: a named pipe must not block the process. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

export class SourceFile {
  readonly fd: number;
  readonly size: number;
  /** Size and times; equal while no process changes the file. The machine's clock may have jumped: only equality counts. */
  readonly stat: string;
  readonly inode: string;
  readonly isFile: boolean;

  private constructor(fd: number) {
    this.fd = fd;
    const stat = fstatSync(fd, { bigint: true });
    this.size = Number(stat.size);
    this.stat = `${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
    this.inode = `${stat.dev}:${stat.ino}`;
    this.isFile = stat.isFile();
  }

  /** Throws the system's errors. */
  static open(path: string): SourceFile {
    const fd = openSync(path, READ);
    try {
      return new SourceFile(fd);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** The same open file as it is now, also when it has no path any more. */
  again(): SourceFile {
    return new SourceFile(this.fd);
  }

  /** The bytes from an offset on, fewer where the file ends before. */
  read(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    let read = 0;
    while (read < length) {
      const count = readSync(this.fd, bytes, read, length - read, offset + read);
      if (count === 0) break;
      read += count;
    }
    return bytes.subarray(0, read);
  }

  close(): void {
    closeSync(this.fd);
  }
}
