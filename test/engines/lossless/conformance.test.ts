import { createLosslessEngine } from "../../../src/engines/lossless/engine.ts";
import { testEngine } from "../../../src/testkit/index.ts";

testEngine("lossless", { create: ({ dir }) => createLosslessEngine({ agentDir: dir, config: {} }) });
