/** US dollars. A figure is absent where prices are unknown. */
export interface CostSoFar {
  turn?: number;
  session?: number;
  /** All sessions of the agent since local midnight. */
  day?: number;
  /** The limits in force. */
  limits?: { turn?: number; session?: number; day?: number };
}
