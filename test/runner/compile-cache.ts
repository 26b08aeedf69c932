/** Environment variable of the compile cache, for programs that tests start; without it each start compiles again. */
const folder = process.env["NODE_COMPILE_CACHE"];

export const COMPILE_CACHE: { NODE_COMPILE_CACHE?: string } =
  folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
