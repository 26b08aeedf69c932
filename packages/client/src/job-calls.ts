/** Jobs of the server: prompts at set times. Each call needs a token of scope `admin`. */
import type { Job, NewJob } from "@pagurus/api/types";
import type { CallOptions, HttpRequests } from "./http-requests.ts";

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
