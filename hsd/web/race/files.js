// What a visitor can take along: the table as CSV, and the whole race as JSON.
import { csv as lines, save as saveFile } from "../kit/files.js";
import { PARTS } from "./results.js";

const FIELDS = [
  "tokens",
  "target_calls",
  "tokens_per_call",
  "seconds",
  "tokens_per_second",
  "speedup",
  "limit",
  "efficiency",
  "runs",
  "ms_per_token",
  "target_call_ms",
  "draft_call_ms",
  "prefill_ms",
  "outside_ms_per_step",
];

/** One line per lane. */
function csv(report) {
  const parts = PARTS.map(([part]) => part);
  const head = ["lane", ...FIELDS, ...parts.map((part) => `share_${part}`)];
  const rows = report.rows.map((row) => [
    row.case,
    ...FIELDS.map((name) => row[name] ?? ""),
    ...parts.map((part) => row.shares[part]),
  ]);
  return lines([head, ...rows]);
}

/** In the format of the recorded race, with the numbers beside it. */
const json = ({ header, events, report }) => JSON.stringify({ format: "hsd-race-1", header, events, report });

const save = (kind, shown) => saveFile(`race.${kind}`, kind === "csv" ? csv(shown.report) : json(shown));

export { csv, json, save };
