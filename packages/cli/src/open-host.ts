import type { PagurusOptions } from "@pagurus/contract/host/host";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import { keepYoungGenerationSmall } from "@pagurus/core/platform/heap-growth";

/** Opens a host in this process; loads its code at that moment. Throws what `createPagurus` throws. */
export async function openHost(options: PagurusOptions): Promise<PagurusHost> {
  const { createPagurus } = await import("@pagurus/app/app");
  const host = await createPagurus(options);
  keepYoungGenerationSmall();
  return host;
}
