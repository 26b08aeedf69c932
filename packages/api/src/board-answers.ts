/** Shapes of the dashboard's answers: costs, channels, connected programs, health. */
import * as z from "zod";

const spendSum = z.object({
  model: z.string().optional().describe("Absent for amounts of a ledger that did not record it."),
  program: z.string().optional().describe("Runtime, such as codex or wire-claude; api: a direct surface."),
  cost: z.number().describe("US dollars."),
  requests: z.int(),
});

export const spend = z.object({
  today: z.string().describe("Local date of the server, as 2026-11-30."),
  days: z.array(z.object({ day: z.string(), agent: z.string(), sums: z.array(spendSum) })),
  limits: z
    .object({ turn: z.number().optional(), session: z.number().optional(), day: z.number().optional() })
    .describe("Configured limits of each agent, US dollars."),
});

const channelPerson = z.object({
  address: z.string(),
  name: z.string().optional(),
  state: z.enum(["waiting", "approved", "blocked"]),
  code: z.string().optional().describe("Lets the person speak; of one who waits."),
  askedAt: z.iso.datetime(),
});

export const channel = z.object({
  id: z.string(),
  kind: z.string().optional(),
  enabled: z.boolean(),
  state: z.string().optional().describe("A sentence about the connection; absent before the first one."),
  since: z.iso.datetime().optional(),
  missed: z.string().optional().describe("What may have been missed, in a sentence."),
  waiting: z.int().describe("Messages that wait to be sent."),
  people: z.array(channelPerson),
});

export const connection = z.object({
  id: z.string().describe("Id of the token or the login; local: commands of the server's own user."),
  name: z.string().describe("Name of the token."),
  kind: z.enum(["token", "browser", "local"]),
  open: z.int().describe("Requests, streams and sockets that are open now."),
  usedAt: z.iso.datetime().optional(),
});

export const health = z.object({
  version: z.string(),
  startedAt: z.iso.datetime(),
  memoryBytes: z.int().describe("Resident memory of the process."),
  heapBytes: z.int(),
  freeBytes: z.int().optional().describe("Free bytes of the disk of the home."),
  captures: z.object({
    isOn: z.boolean(),
    bytes: z.int().describe("On the disk now."),
    maxBytes: z.int().optional(),
  }),
  oldestWorkSeconds: z.number().describe("Age of the oldest work that has not ended; 0 without any."),
  problems: z.array(z.string()).describe("A sentence for each thing that needs a person."),
});
