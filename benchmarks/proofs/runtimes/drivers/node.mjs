// node node.mjs RUNTIME PACKAGES CASES ANSWERS NAME...    RUNTIME: onnxruntime-node or onnxruntime-web

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { score } from "./cases.mjs";

const [runtime, packages, cases, answers, ...names] = process.argv.slice(2);
const ort = await loaded();
const settings = { executionProviders: [runtime === "onnxruntime-web" ? "wasm" : "cpu"], logSeverityLevel: 4 };
if (runtime === "onnxruntime-node") Object.assign(settings, { intraOpNumThreads: 1, interOpNumThreads: 1 });

async function loaded() {
  const entry = join(packages, "node_modules", runtime);
  if (runtime === "onnxruntime-node") return createRequire(join(packages, "package.json"))(runtime);
  const dist = pathToFileURL(join(entry, "dist/")).href;
  const web = await import(`${dist}ort.wasm.min.mjs`);
  web.env.wasm.wasmPaths = dist;
  web.env.wasm.numThreads = 1;
  return web;
}

for (const name of names) {
  const described = JSON.parse(await readFile(join(cases, name, "case.json"), "utf8"));
  const model = new Uint8Array(await readFile(join(cases, name, "model.onnx")));
  const values = new Uint8Array(await readFile(join(cases, name, "rows.bin"))).slice().buffer;
  const found = await score(ort, settings, described, model, values);
  await mkdir(join(answers, name), { recursive: true });
  if (found.labels) {
    await writeFile(join(answers, name, "labels.bin"), new Uint8Array(found.labels.buffer));
    await writeFile(join(answers, name, "probabilities.bin"), new Uint8Array(found.probabilities.buffer));
  }
  await writeFile(join(answers, name, "answer.json"), JSON.stringify(found.answer));
}
