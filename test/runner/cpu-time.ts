/** Milliseconds of CPU that a piece of work used: unlike elapsed time the same on a busy machine, and while the process is stopped. */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
