/** US dollars. A figure is absent where prices are unknown. */
export interface CostSoFar {
    turn?: number;
    session?: number;
    /** All sessions of the agent since local midnight. */
    day?: number;
    /** Refs of models of the turn's requests without known prices, which the figures lack. Absent: the figures are whole. */
    unpriced?: string[];
    /** The limits in force. */
    limits?: {
        turn?: number;
        session?: number;
        day?: number;
    };
}
