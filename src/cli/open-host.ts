import type { PagurusOptions } from "../contract/host/host.ts";
import type { PagurusHost } from "../contract/host/pagurus-host.ts";
import { keepYoungGenerationSmall } from "../platform/heap-growth.ts";

/** Opens a host in this process; loads its code at that moment. Throws what `createPagurus` throws. */
export async function openHost(options: PagurusOptions): Promise<PagurusHost> {
  const { createPagurus } = await import("../app.ts");
  const host = await createPagurus(options);
  keepYoungGenerationSmall();
  return host;
}
