// node score.mjs MODEL.onnx ROWS.csv > predictions.csv
// node score.mjs MODEL.onnx '{"income": 21000, "amount": 9000}'
// node score.mjs MODEL.onnx < rows.csv

import { readFile } from "node:fs/promises";
import { argv, exit, stderr, stdin, stdout } from "node:process";
import ort from "onnxruntime-node";
import { ModelError, describe, readCsv, score, writeCsv } from "./rulekit-model.mjs";

async function rowsOf(source) {
  if (source?.trimStart().startsWith("{")) return [JSON.parse(source)];
  if (source?.trimStart().startsWith("[")) return JSON.parse(source);
  if (source) return readCsv(await readFile(source, "utf8"));
  const parts = [];
  for await (const part of stdin) parts.push(part);
  return readCsv(Buffer.concat(parts).toString("utf8"));
}

try {
  const [path, source] = argv.slice(2);
  if (!path) throw new ModelError("usage: node score.mjs MODEL.onnx [ROWS.csv | JSON]");
  const bytes = new Uint8Array(await readFile(path));
  const model = await describe(bytes);
  // one thread: calls of a few microseconds are not made faster by more
  const session = await ort.InferenceSession.create(bytes, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  const rows = await rowsOf(source);
  const scored = await score(ort, model, session, rows);
  const json = source?.trimStart().startsWith("{") || source?.trimStart().startsWith("[");
  stdout.write(json ? scored.map((row) => JSON.stringify(row) + "\n").join("") : writeCsv(model, scored));
} catch (error) {
  if (!(error instanceof ModelError || error instanceof SyntaxError || error.code)) throw error;
  stderr.write(`score.mjs: ${error.message}\n`);
  exit(2);
}
