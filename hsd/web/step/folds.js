// What is folded up under a step: its tests one by one, a branch in full, the numbers. Loaded when
// a fold is first opened.
import { decisions } from "./cards.js";
import { ledger } from "./ledger.js";
import { table } from "./table.js";

export { decisions, ledger, table };
