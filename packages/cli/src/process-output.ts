import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { writeAll } from "@pagurus/core/platform/atomic-files";
import type { OutputStream } from "./cli.ts";

const STDOUT = 1;

/** Whether it is a file or a device: written directly, because Node's stream for them does not detect a partial write. */
function isPlain(fd: number): boolean {
  const stat = fstatSync(fd, { throwIfNoEntry: false });
  return stat !== undefined && (stat.isFile() || (stat.isCharacterDevice() && !isatty(fd)));
}

/** Standard output of this process. The first failure is reported to `failed`; later output is dropped. */
export class ProcessOutput implements OutputStream {
  readonly isTTY: boolean;
  readonly #failed: (error: NodeJS.ErrnoException) => void;
  /** Absent for a file. */
  readonly #stream: NodeJS.WriteStream | undefined;
  #lost = false;

  constructor(failed: (error: NodeJS.ErrnoException) => void) {
    this.#failed = failed;
    this.#stream = isPlain(STDOUT) ? undefined : process.stdout;
    this.isTTY = this.#stream?.isTTY === true;
    this.#stream?.on("error", (error: NodeJS.ErrnoException) => this.#fail(error));
  }

  /** The terminal itself, if it is one, because a line editor needs it; its failures are reported the same way. */
  get terminal(): NodeJS.WriteStream | undefined {
    return this.isTTY ? this.#stream : undefined;
  }

  get columns(): number | undefined {
    return this.#stream?.columns;
  }

  get lost(): boolean {
    return this.#lost;
  }

  write(data: string | Uint8Array, done?: () => void): boolean {
    if (this.#lost) {
      done?.();
      return false;
    }
    if (this.#stream) {
      return this.#stream.write(data, (error) => {
        if (error) this.#fail(error);
        done?.();
      });
    }
    try {
      writeAll(STDOUT, typeof data === "string" ? Buffer.from(data) : data);
    } catch (error) {
      this.#fail(error as NodeJS.ErrnoException);
    }
    done?.();
    return !this.#lost;
  }

  /** Resolves when everything written so far is flushed. */
  flush(): Promise<void> {
    return new Promise((resolve) => void this.write("", resolve));
  }

  #fail(error: NodeJS.ErrnoException): void {
    if (this.#lost) return;
    this.#lost = true;
    this.#failed(error);
  }
}
