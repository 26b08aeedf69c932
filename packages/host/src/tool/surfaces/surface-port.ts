/** Requests to the models of the tools for images and sound. */

export interface ImageAsk {
  prompt: string;
  size?: string | undefined;
  /** Format of the file, for example `jpeg`; undefined: the provider's own. */
  format?: string | undefined;
}

export interface SpeechAsk {
  text: string;
  voice?: string | undefined;
  instructions?: string | undefined;
  /** Format of the file, for example `mp3`. */
  format: string;
}

export interface TranscriptAsk {
  /** Name of the file, whose extension names its format. */
  name: string;
  bytes: Buffer;
  /** Code of the language, for example `en`. */
  language?: string | undefined;
}

/**
 * Called by the tools, once for each call of the agent. A tool whose member is absent is not offered. Each member throws what the
 * provider refuses, and `cost_limit` before anything is sent.
 */
export interface SurfacePort {
  image?(ask: ImageAsk, signal: AbortSignal): Promise<Buffer>;
  speech?(ask: SpeechAsk, signal: AbortSignal): Promise<Buffer>;
  transcript?(ask: TranscriptAsk, signal: AbortSignal): Promise<string>;
}
