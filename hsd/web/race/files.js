// What a visitor can take along: the table as CSV, and the whole race as JSON.
import * as files from "../player/export.js";
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

/** One line per lane. Text cells that a spreadsheet would run as a formula get a leading apostrophe. */
function csv(report) {
  const parts = PARTS.map(([part]) => part);
  const head = ["lane", ...FIELDS, ...parts.map((part) => `share_${part}`)];
  const lines = report.rows.map((row) => [
    row.case,
    ...FIELDS.map((name) => row[name] ?? ""),
    ...parts.map((part) => row.shares[part]),
  ]);
  return [head, ...lines].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
}

function cell(value) {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** In the format of the recorded race, with the numbers beside it. */
const json = ({ header, events, report }) => JSON.stringify({ format: "hsd-race-1", header, events, report });

function save(kind, shown) {
  const [text, type] =
    kind === "csv" ? [csv(shown.report), "text/csv;charset=utf-8"] : [json(shown), "application/json"];
  files.save(`race.${kind}`, new Blob([text], { type }));
}

export { csv, json, save };
