/** Jobs of the server: prompts at set times. Each call needs a token of scope `admin`. */
import type { CallOptions, HttpRequests } from "./http-requests.ts";

export type JobTimes =
  | { kind: "cron"; expression: string; tz: string }
  /** Milliseconds since the epoch. */
  | { kind: "at"; at: number }
  | { kind: "every"; everyMs: number };
/** Whether there is something to do: a file has changed, or a shell command ends with 0. */
export type JobCheck = { kind: "file"; path: string } | { kind: "command"; command: string };

export interface NewJob {
  prompt: string;
  session: string;
  agent?: string | undefined;
  model?: string | undefined;
  cwd?: string | undefined;
  times: JobTimes;
  /** For times while no server ran; default `skip`, and `once` for a single time. */
  missed?: "skip" | "once" | undefined;
  check?: JobCheck | undefined;
}

/** Times are ISO 8601. */
export interface Job {
  id: string;
  agent: string;
  session: string;
  prompt: string;
  model?: string | undefined;
  times: unknown;
  missed: "skip" | "once";
  check?: JobCheck | undefined;
  paused: boolean;
  nextAt?: string | undefined;
  lastAt?: string | undefined;
  lastOutcome?: "posted" | "unneeded" | "missed" | "failed" | undefined;
}

export class JobCalls {
  readonly #http: HttpRequests;

  constructor(http: HttpRequests) {
    this.#http = http;
  }

  /** The next one first. */
  async list({ signal }: CallOptions = {}): Promise<Job[]> {
    return (await this.#http.json<{ jobs: Job[] }>({ method: "GET", path: "/jobs", signal })).jobs;
  }

  get(id: string, { signal }: CallOptions = {}): Promise<Job> {
    return this.#http.json({ method: "GET", path: `/jobs/${encodeURIComponent(id)}`, signal });
  }

  add(body: NewJob, { signal }: CallOptions = {}): Promise<Job> {
    return this.#http.json({ method: "POST", path: "/jobs", body, signal });
  }

  async remove(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: "DELETE", path: `/jobs/${encodeURIComponent(id)}`, signal });
  }

  pause(id: string, options?: CallOptions): Promise<Job> {
    return this.#change(id, "pause", options);
  }

  resume(id: string, options?: CallOptions): Promise<Job> {
    return this.#change(id, "resume", options);
  }

  /** Runs it now, besides its times. */
  run(id: string, options?: CallOptions): Promise<Job> {
    return this.#change(id, "run", options);
  }

  #change(id: string, action: string, { signal }: CallOptions = {}): Promise<Job> {
    return this.#http.json({ method: "POST", path: `/jobs/${encodeURIComponent(id)}/${action}`, signal });
  }
}
