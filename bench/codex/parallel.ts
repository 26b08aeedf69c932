/** Many sessions at once on the one child of a host, against as many threads of a bare driver. */
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { BareCodex } from "./bare.ts";
import { timed } from "./paired.ts";
import { bareEnv, codexHost, hostTurn, makeCodexPlace, type ResponsesEndpoint } from "./place.ts";
import { PROMPT, recordTurn } from "./record-turn.ts";

const SESSIONS = 20;
const TURNS = 4;
/** The host is one process next to Codex: it must not be the bottleneck. */
const WALL_LIMIT = 1.5;
const PEER = "bare driver";

/** Bare and host alternate, so that other load on the machine affects both. */
const ROUNDS = 2;

interface Together {
  wallMs: number;
  longestMs: number;
  /** Turns that completed. */
  turns: number;
  /** Maximum of requests that were open at the endpoint at once. */
  inFlight: number;
}

/** All sessions at once, the turns of each in sequence. A turn that does not complete throws. */
async function together(
  endpoint: ResponsesEndpoint,
  turns: number,
  turn: (session: number) => Promise<number>,
): Promise<Together> {
  await endpoint.stats();
  const taken: number[] = [];
  const wallMs = await timed(() =>
    Promise.all(
      Array.from({ length: SESSIONS }, async (_each, session) => {
        for (let index = 0; index < turns; index++) taken.push(await turn(session));
      }),
    ),
  );
  const { most } = await endpoint.stats();
  return { wallMs, longestMs: Math.max(...taken), turns: taken.length, inFlight: most };
}

function inAll(rounds: readonly Together[]): Together {
  return {
    wallMs: rounds.reduce((sum, { wallMs }) => sum + wallMs, 0),
    longestMs: Math.max(...rounds.map(({ longestMs }) => longestMs)),
    turns: rounds.reduce((sum, { turns }) => sum + turns, 0),
    inFlight: Math.max(...rounds.map(({ inFlight }) => inFlight)),
  };
}

/** Against a model with the latency of a quick one, so that the turns overlap as in use. */
export async function parallelRows(endpoint: ResponsesEndpoint, options: BenchOptions): Promise<BenchRow[]> {
  const turns = options.quick ? 1 : TURNS;
  options.log(`${SESSIONS} sessions at once, ${ROUNDS} times ${turns} turns each`);
  const baseUrl = `${endpoint.origin}/slow/v1`;
  const { place, recorded } = await recordTurn(baseUrl, 0);
  const own = makeCodexPlace();
  const bare = await BareCodex.start(place.binary, recorded, bareEnv(place, "bare"));
  const pagurus = await codexHost(own, { baseUrl });
  try {
    // Both children run before the timing starts.
    await hostTurn(pagurus, own, "before", PROMPT);
    await bare.turn(await bare.thread([]), PROMPT);
    const [ours, peers]: [Together[], Together[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      const threads: string[] = [];
      const peer = (session: number): Promise<number> =>
        timed(async () => bare.turn((threads[session] ??= await bare.thread([])), PROMPT));
      const host = async (session: number): Promise<number> =>
        (await hostTurn(pagurus, own, `round-${round}-${session}`, PROMPT)).ms;
      peers.push(await together(endpoint, turns, peer));
      ours.push(await together(endpoint, turns, host));
    }
    return rowsOf(inAll(ours), inAll(peers), ROUNDS * SESSIONS * turns);
  } finally {
    await Promise.all([pagurus.close(), bare.end()]);
    for (const each of [place, own]) each.remove();
  }
}

function rowsOf(ours: Together, peer: Together, asked: number): BenchRow[] {
  const row = (measure: string, value: number, unit: string): BenchRow => ({
    measure: `${SESSIONS} sessions at once: ${measure}`,
    value,
    unit,
  });
  return [
    withTarget(row("turns that completed", ours.turns, "turns"), ">=", asked),
    withTarget(row("all turns, over the bare driver", ours.wallMs / peer.wallMs, "ratio"), "<=", WALL_LIMIT),
    withPeer(row("all turns", ours.wallMs, "ms"), PEER, peer.wallMs),
    withPeer(row("longest turn", ours.longestMs, "ms"), PEER, peer.longestMs),
    withPeer(row("requests open at once", ours.inFlight, "requests"), PEER, peer.inFlight),
  ];
}
