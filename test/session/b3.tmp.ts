import { openStore, user, assistant } from "./fixtures.ts";
const dir = process.argv[2] ?? "";
  const store = openStore(dir);
  const L = "r" + Date.now();
  const times: number[][] = [[], [], [], [], []];
  for (let k = 0; k < 300; k++) {
    const t0 = performance.now();
    const w = store.openWriter("main", { cwd: "/" });
    const t1 = performance.now();
    w.contextMessages({ maxBytes: 300_000 });
    const t2 = performance.now();
    for (let i = 0; i < 10; i++) w.append({ type: "message", turnId: L + k, message: i ? assistant("x ".repeat(500) + k) : user("y " + k) });
    const t3 = performance.now();
    w.commitTurn({ turnId: L + k, outcome: "completed" });
    const t4 = performance.now();
    w.close();
    [t1 - t0, t2 - t1, t3 - t2, t4 - t3, performance.now() - t4].forEach((x, i) => times[i]?.push(x));
  }
  console.log("open/context/append10/commit/close p50:", times.map((x) => `${x.toSorted((a, b) => a - b)[150]?.toFixed(2)}`).join("  "));
  store.close();
