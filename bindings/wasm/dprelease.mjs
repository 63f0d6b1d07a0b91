// The accountant of dprelease, in JavaScript. wasm_exec.js and dprelease.wasm lie beside
// this file.
//
//   import { load } from "./dprelease.mjs";
//   const account = await load();
//   account({ relation: "add-remove", event: { gaussian: { sigma: 2 } }, query: { delta: 1e-6 } }).epsilon
import "./wasm_exec.js";

// load starts the accountant and returns a function from a question to its answer. In a
// browser it fetches the program; a reader may be given that returns its bytes.
export async function load(bytes = fetchBeside) {
  const go = new globalThis.Go();
  const { instance } = await WebAssembly.instantiate(await bytes(), go.importObject);
  const answer = await new Promise((ready, failed) => {
    globalThis.dpreleaseReady = ready;
    go.run(instance).catch(failed);
  });
  delete globalThis.dpreleaseReady;
  return (question) => {
    const text = typeof question === "string" ? question : JSON.stringify(question);
    const found = JSON.parse(answer(text));
    if (found.error !== undefined) throw new Error(found.error);
    return found;
  };
}

async function fetchBeside() {
  const url = new URL("dprelease.wasm", import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  return (await fetch(url)).arrayBuffer();
}
