/** Messages between the command line and a process that works apart from the user's files. */
import { PagurusError, toPagurusError, type ErrorCode } from "@pagurus/contract/errors";

/** Orders to the process; the job is plain JSON. */
export type ApartOrder<Job> = { type: "run"; job: Job } | { type: "abort" };

/** The end of a job; the process sends more of its own before. */
export type ApartNews = { type: "failed"; code: ErrorCode; message: string } | { type: "done" };

function failureNews(error: unknown): ApartNews {
  const { code, message } = toPagurusError(error);
  return { type: "failed", code, message };
}

export function errorOf({ code, message }: ApartNews & { type: "failed" }): PagurusError {
  return new PagurusError(code, message);
}

export function isEnd(news: { type: string }): news is ApartNews {
  return news.type === "failed" || news.type === "done";
}

/** Sends news to the command line; resolves when they are on their way. */
export function sendNews(news: object): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) return resolve();
    process.send(news, () => resolve());
    return undefined;
  });
}

/** Takes the process's one job, and ends the process after it. */
export function serveJob<Job>(run: (job: Job, signal: AbortSignal) => Promise<void>): void {
  const stop = new AbortController();
  const work = async (job: Job): Promise<void> => {
    try {
      await run(job, stop.signal);
      await sendNews({ type: "done" });
    } catch (error) {
      await sendNews(failureNews(error));
    }
    // Timers and servers left by a plugin do not keep the process alive.
    process.exit();
  };
  /** Reports an unhandled error; it does not fail the running work. */
  const report = (error: unknown): void => {
    process.stderr.write(`pagurus: unhandled error: ${String(error)}\n`);
  };
  process.on("unhandledRejection", report).on("uncaughtException", report);
  process.on("message", (order: ApartOrder<Job>) => {
    if (order.type === "run") void work(order.job);
    else stop.abort();
  });
  process.on("disconnect", () => process.exit());
}
