import { EncoderThread } from "./encoder-thread.ts";

/** One encoder for all engines of a host: it begins with the first one that takes it, and ends with the last one. */
export class SharedEncoder {
  #encoder: EncoderThread | undefined;
  #users = 0;

  take(): EncoderThread {
    this.#users += 1;
    return (this.#encoder ??= new EncoderThread());
  }

  async release(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    const encoder = this.#encoder;
    this.#encoder = undefined;
    await encoder?.close();
  }
}
